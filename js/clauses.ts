// The clauses of a query as a tree: what `SearchRequest.query` takes beside a text.

import type { DocId, Scalar } from "./types.js";

/**
 * A query as a tree: an object with one key, which says what kind of clause it is. Errors name the place:
 * `query.bool.must[2].range.field`. At most 32 deep and 1024 clauses, which look up 65,536 terms (a fuzzy one counts 4, what
 * a phrase ends with `maxExpansions`, a `moreLikeThis` 1024) and 256 different prefixes, wildcards and other patterns.
 */
export type Clause =
  /** Every document, score 1. */
  | { all: Record<string, never> }
  /** No document. */
  | { none: Record<string, never> }
  /** A text as a search box takes it. */
  | { plain: string }
  /** A text in the syntax of `syntax: "lucene"`. */
  | { lucene: string }
  /** One value: of a text or keyword field analysed and scored, of a column or the id compared, score 1. */
  | { term: { field: string; value: Scalar } & Boosted }
  | { match: MatchClause }
  | { phrase: PhraseClause }
  | { phrasePrefix: PhrasePrefixClause }
  /** Terms that start with a value. */
  | { prefix: { field: string; value: string } & Boosted }
  /** `*` stands for any characters, `?` for one. */
  | { wildcard: { field: string; value: string } & Boosted }
  /** A regular expression for a whole term. */
  | { regex: { field: string; value: string } & Boosted }
  | { fuzzy: FuzzyClause }
  /** Values of a column between bounds; score 1. */
  | { range: { field: string; gt?: Scalar; gte?: Scalar; lt?: Scalar; lte?: Scalar } & Boosted }
  /** One of some values: words of a text field, values of a column, ids. */
  | { terms: { field: string; values: readonly Scalar[] } & Boosted }
  /** Documents that have a value, a word or a vector in a field; score 1. */
  | { exists: { field: string } & Boosted }
  | { bool: BoolClause }
  /** The best of several clauses, plus `tieBreaker` (default 0) times the others. */
  | { disMax: { queries: readonly Clause[]; tieBreaker?: number } & Boosted }
  /** Matches of a clause, all with one score. Default 1. */
  | { constant: { query: Clause; score?: number } & Boosted }
  /** Matches of a clause with its score times a factor. */
  | { boost: { query: Clause; factor: number } }
  | { function: FunctionClause }
  | { moreLikeThis: MoreLikeThisClause };

/** What nearly every clause takes. */
export interface Boosted {
  /** Factor on the score, not negative. Default 1. */
  boost?: number;
}

/** Words of a text, analysed as the field is. */
export interface MatchClause extends Boosted {
  /** A text or keyword field. Default: the fields of the request. */
  field?: string;
  /** Several fields instead: the best of them counts for each word. */
  fields?: readonly string[];
  /** The words. */
  text: string;
  /** Whether one word is enough or all must match. Default `"or"`. */
  operator?: "or" | "and";
  /** How many words must match, with `"or"`: a number, a share such as `"75%"`, or negative: how many may be missing. */
  minShouldMatch?: number | string;
  /** Edits that a word may be away; `"auto"`: 0 up to 2 characters, 1 up to 5, else 2. Default 0. */
  fuzzy?: 0 | 1 | 2 | "auto";
}

/** Words one after another. */
export interface PhraseClause extends Boosted {
  /** A text field with positions. Default: the fields of the request. */
  field?: string;
  /** Several fields instead. */
  fields?: readonly string[];
  /** The words. */
  text: string;
  /** How far words may be from their places, together; nearer ones score higher. Default 0. */
  slop?: number;
}

/** Words one after another, the last of them still being typed. */
export interface PhrasePrefixClause extends PhraseClause {
  /** Terms that the last word stands for at most, the most frequent ones. Default 50. */
  maxExpansions?: number;
}

/** Documents like another one: exactly one of `like` and `text`. */
export interface MoreLikeThisClause extends Boosted {
  /** A document of the index; it is not found itself. */
  like?: DocId;
  /** A text, as if it were in each of the fields. */
  text?: string;
  /** Text or keyword fields that terms are taken from and searched in. Default: the fields of the request. */
  fields?: readonly string[];
  /** One field instead. */
  field?: string;
  /** Terms that are searched, those that tell the document apart best. Default 25. */
  maxQueryTerms?: number;
  /** Occurrences in the document that a term needs. Default 1. */
  minTermFreq?: number;
  /** Documents of the index that a term must be in. Default 2. */
  minDocFreq?: number;
  /** Documents of the index that a term may be in. Default: any number. */
  maxDocFreq?: number;
  /** How many of the terms must match, as in {@link MatchClause}. Default `"30%"`. */
  minShouldMatch?: number | string;
}

/** Terms near a word. */
export interface FuzzyClause extends Boosted {
  /** A text or keyword field. */
  field: string;
  /** The word. */
  value: string;
  /** Characters inserted, left out, replaced or swapped. Default `"auto"`, as in {@link MatchClause}. */
  maxEdits?: 0 | 1 | 2 | "auto";
  /** Characters at the beginning that must be equal. Default 0. */
  prefixLength?: number;
  /** Terms it stands for at most, the nearest ones. Default 50. */
  maxExpansions?: number;
}

/** Conditions on clauses. Scores of `must` and `should` add up. */
export interface BoolClause extends Boosted {
  /** All of these match. */
  must?: Clause | readonly Clause[];
  /** `minShouldMatch` of these match; at least one where there is neither `must` nor `filter`. */
  should?: Clause | readonly Clause[];
  /** None of these matches. */
  mustNot?: Clause | readonly Clause[];
  /** All of these match, without a score. */
  filter?: Clause | readonly Clause[];
  /** As in {@link MatchClause}. */
  minShouldMatch?: number | string;
}

/** Matches of a clause, scored by a function of a column: exactly one of `decay`, `log1p`, `saturation`, `linear`. */
export interface FunctionClause extends Boosted {
  /** What matches. Default: every document, score 1. */
  query?: Clause;
  /** A number, integer, bool or date field. Of several values the one with the highest result counts. */
  field: string;
  /** 1 near an origin, falling with the distance: recency. */
  decay?: DecayFunction;
  /** `ln(1 + factor * value)`. Default factor 1. */
  log1p?: { factor?: number };
  /** `value / (value + pivot)`: a half at the pivot, never 1: popularity. */
  saturation?: { pivot: number };
  /** `factor * value`. Default factor 1. */
  linear?: { factor?: number };
  /** Factor on the result. Default 1. */
  weight?: number;
  /** The result for documents without a value. Default 1 where it multiplies, else 0. */
  missing?: number;
  /** What becomes of the clause's own score: times the result, plus it, or the result alone. Default `"multiply"`. */
  boostMode?: "multiply" | "sum" | "replace";
}

/** 1 up to `offset` from `origin`, and `decay` at `scale` behind that. */
export interface DecayFunction {
  /** By the same factor everywhere, slowly at first, or evenly down to 0. Default `"exp"`. */
  shape?: "exp" | "gauss" | "linear";
  /** Where it is highest. Dates take `"now"`, which is their default. */
  origin?: number | string | Date;
  /** Distance; of dates in milliseconds or as `"10d"`, `"12h"`, `"30m"`, `"20s"`, `"4w"`. */
  scale: number | string;
  /** Distance up to which it is 1. Default 0. */
  offset?: number | string;
  /** Between 0 and 1. Default 0.5. */
  decay?: number;
}
