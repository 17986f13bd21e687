//! Comparisons of what a device wrote with what its twin wrote, each shown failing.

/// What the device wrote. Only the device runner makes one.
#[derive(Debug)]
pub(super) struct DeviceOut<T>(pub(super) Vec<T>);

/// What the twin wrote. Only the twin runner makes one.
#[derive(Debug)]
pub(super) struct TwinOut<T>(pub(super) Vec<T>);

/// Fails at the first element further apart than `rel_tol * (1 + |twin|)`.
///
/// # Panics
/// On a mismatch or NaN, or if either side is empty: an empty comparison proves nothing.
#[track_caller]
pub(super) fn assert_close(device: &DeviceOut<f32>, twin: &TwinOut<f32>, rel_tol: f32) {
    assert!(!twin.0.is_empty(), "the twin wrote nothing");
    assert_eq!(device.0.len(), twin.0.len(), "lengths differ");
    for (ix, (&device, &twin)) in device.0.iter().zip(&twin.0).enumerate() {
        let bound = rel_tol * (1.0 + twin.abs());
        assert!((device - twin).abs() <= bound, "element {ix}: device {device}, twin {twin}, bound {bound}");
    }
}

/// Fails at the first element that differs, or if there is none to compare.
#[track_caller]
pub(super) fn assert_same(device: &DeviceOut<u32>, twin: &TwinOut<u32>) {
    assert!(!twin.0.is_empty(), "the twin wrote nothing");
    assert_eq!(device.0.len(), twin.0.len(), "lengths differ");
    for (ix, (device, twin)) in device.0.iter().zip(&twin.0).enumerate() {
        assert_eq!(device, twin, "element {ix}");
    }
}

#[test]
#[should_panic(expected = "element 1")]
fn one_wrong_element_fails() {
    assert_close(&DeviceOut(vec![1.0, 2.1]), &TwinOut(vec![1.0, 2.0]), 1e-5);
}

#[test]
#[should_panic(expected = "nothing")]
fn empty_fails() {
    assert_close(&DeviceOut(vec![]), &TwinOut(vec![]), 1e-5);
}

#[test]
#[should_panic(expected = "element 0")]
fn nan_fails() {
    assert_close(&DeviceOut(vec![f32::NAN]), &TwinOut(vec![1.0]), 1e-5);
}

#[test]
#[should_panic(expected = "lengths")]
fn a_missing_element_fails() {
    assert_same(&DeviceOut(vec![1]), &TwinOut(vec![1, 2]));
}

#[test]
#[should_panic(expected = "element 2")]
fn a_wrong_integer_fails() {
    assert_same(&DeviceOut(vec![1, 2, 4]), &TwinOut(vec![1, 2, 3]));
}
