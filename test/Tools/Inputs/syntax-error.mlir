func.func @f() -> f32 {
  return %missing : f32
}
