// What examples/smollm2/activations.mlir expects before it.
!factor = f32

func.func private @to_factor(%x: f32) -> f32 {
  return %x : f32
}

func.func private @from_factor(%x: f32) -> f32 {
  return %x : f32
}
