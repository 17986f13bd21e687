//! The compute pipelines, and how each is launched: kernels take a device and bindings, nothing else.

use std::sync::OnceLock;

use super::layout::{MAX_COMPONENT, METRIC_COSINE, METRIC_L2, MIN_COMPONENT, ScoreParams, SelectParams, Tile, WG_SIZE};

/// Pipelines of one device, each compiled when it is first used.
#[derive(Debug)]
pub(super) struct Kernels {
    score_module: wgpu::ShaderModule,
    select_module: wgpu::ShaderModule,
    score_wide: OnceLock<wgpu::ComputePipeline>,
    score_tall: OnceLock<wgpu::ComputePipeline>,
    select: OnceLock<wgpu::ComputePipeline>,
}

/// What `score_flat` reads and writes, in binding order after its parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoreBuffers<'a> {
    pub(super) queries: &'a wgpu::Buffer,
    pub(super) query_norms: &'a wgpu::Buffer,
    pub(super) rows: &'a wgpu::Buffer,
    pub(super) accept: &'a wgpu::Buffer,
    pub(super) keys: &'a wgpu::Buffer,
}

/// What `select_top` reads and writes, in binding order after its parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct SelectBuffers<'a> {
    pub(super) keys: &'a wgpu::Buffer,
    pub(super) top_keys: &'a wgpu::Buffer,
    pub(super) top_rows: &'a wgpu::Buffer,
    pub(super) counts: &'a wgpu::Buffer,
}

impl Kernels {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let module = |label, source: &'static str| {
            let source = wgpu::ShaderSource::Wgsl(source.into());
            device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(label), source })
        };
        Self {
            score_module: module("score_flat", include_str!("../../shaders/score_flat.wgsl")),
            select_module: module("select_top", include_str!("../../shaders/select_top.wgsl")),
            score_wide: OnceLock::new(),
            score_tall: OnceLock::new(),
            select: OnceLock::new(),
        }
    }

    fn score_pipeline(&self, device: &wgpu::Device, tile: Tile) -> &wgpu::ComputePipeline {
        let slot = if tile == Tile::WIDE { &self.score_wide } else { &self.score_tall };
        slot.get_or_init(|| {
            let constants = [
                ("WG_SIZE", WG_SIZE.into()),
                ("QUERY_THREADS", tile.query_threads.into()),
                ("ROW_THREADS", tile.row_threads.into()),
                ("SLICE_DIMS", tile.slice_dims.into()),
                ("METRIC_COSINE", METRIC_COSINE.into()),
                ("METRIC_L2", METRIC_L2.into()),
                ("MAX_COMPONENT", MAX_COMPONENT.into()),
                ("MIN_COMPONENT", MIN_COMPONENT.into()),
            ];
            pipeline(device, "score_flat", &self.score_module, &constants)
        })
    }

    fn select_pipeline(&self, device: &wgpu::Device) -> &wgpu::ComputePipeline {
        self.select.get_or_init(|| pipeline(device, "select_top", &self.select_module, &[("WG_SIZE", WG_SIZE.into())]))
    }

    /// Records `score_flat`. `params` holds a [`ScoreParams`] equal to `shape`.
    pub(super) fn score_flat(
        &self,
        device: &wgpu::Device,
        pass: &mut wgpu::ComputePass<'_>,
        params: &wgpu::Buffer,
        shape: &ScoreParams,
        buffers: ScoreBuffers<'_>,
    ) {
        let tile = Tile::for_queries(shape.num_queries);
        let pipeline = self.score_pipeline(device, tile);
        let ScoreBuffers { queries, query_norms, rows, accept, keys } = buffers;
        bind(device, pass, pipeline, "score_flat", &[params, queries, query_norms, rows, accept, keys]);
        pass.dispatch_workgroups(shape.num_rows.div_ceil(tile.rows()), shape.num_queries.div_ceil(tile.queries()), 1);
    }

    /// Records `select_top`. `params` holds a [`SelectParams`] equal to `shape`.
    pub(super) fn select_top(
        &self,
        device: &wgpu::Device,
        pass: &mut wgpu::ComputePass<'_>,
        params: &wgpu::Buffer,
        shape: &SelectParams,
        buffers: SelectBuffers<'_>,
    ) {
        let pipeline = self.select_pipeline(device);
        let SelectBuffers { keys, top_keys, top_rows, counts } = buffers;
        bind(device, pass, pipeline, "select_top", &[params, keys, top_keys, top_rows, counts]);
        pass.dispatch_workgroups(shape.num_queries, 1, 1);
    }
}

fn pipeline(
    device: &wgpu::Device,
    entry_point: &'static str,
    module: &wgpu::ShaderModule,
    constants: &[(&str, f64)],
) -> wgpu::ComputePipeline {
    // Each shader writes its workgroup memory before it reads it.
    let compilation_options = wgpu::PipelineCompilationOptions { constants, zero_initialize_workgroup_memory: false };
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(entry_point),
        layout: None,
        module,
        entry_point: Some(entry_point),
        compilation_options,
        cache: None,
    })
}

/// Binds whole buffers 0, 1, 2, … of group 0.
fn bind(
    device: &wgpu::Device,
    pass: &mut wgpu::ComputePass<'_>,
    pipeline: &wgpu::ComputePipeline,
    label: &'static str,
    buffers: &[&wgpu::Buffer],
) {
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    let layout = pipeline.get_bind_group_layout(0);
    let group =
        device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(label), layout: &layout, entries: &entries });
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, &group, &[]);
}
