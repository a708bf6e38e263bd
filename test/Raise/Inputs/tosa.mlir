// Attention of PyTorch, as torch-mlir 20261001 writes it in TOSA: with a bias that
// heads share, with scaled_dot_product_attention and a boolean mask, and in f16
// with a large negative number where a mask holds.

module {
  func.func @bias(%arg0: tensor<2x4x8x16xf32>, %arg1: tensor<2x4x8x16xf32>, %arg2: tensor<2x4x8x12xf32>, %arg3: tensor<2x1x8x8xf32>) -> tensor<2x4x8x12xf32> {
    %0 = tosa.const_shape  {values = dense<[8, 8, 16]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %1 = tosa.const_shape  {values = dense<[8, 16, 8]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %2 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
    %3 = tosa.const_shape  {values = dense<[2, 4, 8, 8]> : tensor<4xindex>} : () -> !tosa.shape<4>
    %4 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %5 = tosa.const_shape  {values = dense<8> : tensor<3xindex>} : () -> !tosa.shape<3>
    %6 = tosa.const_shape  {values = dense<[8, 8, 12]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %7 = tosa.const_shape  {values = dense<[2, 4, 8, 12]> : tensor<4xindex>} : () -> !tosa.shape<4>
    %8 = "tosa.const"() <{values = dense<0.353553385> : tensor<1x1x1x1xf32>}> : () -> tensor<1x1x1x1xf32>
    %9 = tosa.transpose %arg1 {perms = array<i32: 0, 1, 3, 2>} : (tensor<2x4x8x16xf32>) -> tensor<2x4x16x8xf32>
    %10 = tosa.reshape %arg0, %0 : (tensor<2x4x8x16xf32>, !tosa.shape<3>) -> tensor<8x8x16xf32>
    %11 = tosa.reshape %9, %1 : (tensor<2x4x16x8xf32>, !tosa.shape<3>) -> tensor<8x16x8xf32>
    %12 = tosa.matmul %10, %11, %2, %2 : (tensor<8x8x16xf32>, tensor<8x16x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<8x8x8xf32>
    %13 = tosa.reshape %12, %3 : (tensor<8x8x8xf32>, !tosa.shape<4>) -> tensor<2x4x8x8xf32>
    %14 = tosa.mul %13, %8, %4 : (tensor<2x4x8x8xf32>, tensor<1x1x1x1xf32>, tensor<1xi8>) -> tensor<2x4x8x8xf32>
    %15 = tosa.add %14, %arg3 : (tensor<2x4x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x4x8x8xf32>
    %16 = tosa.reduce_max %15 {axis = 3 : i32} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x1xf32>
    %17 = tosa.sub %15, %16 : (tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) -> tensor<2x4x8x8xf32>
    %18 = tosa.exp %17 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
    %19 = tosa.reduce_sum %18 {axis = 3 : i32} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x1xf32>
    %20 = tosa.reciprocal %19 : (tensor<2x4x8x1xf32>) -> tensor<2x4x8x1xf32>
    %21 = tosa.mul %18, %20, %4 : (tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>, tensor<1xi8>) -> tensor<2x4x8x8xf32>
    %22 = tosa.reshape %21, %5 : (tensor<2x4x8x8xf32>, !tosa.shape<3>) -> tensor<8x8x8xf32>
    %23 = tosa.reshape %arg2, %6 : (tensor<2x4x8x12xf32>, !tosa.shape<3>) -> tensor<8x8x12xf32>
    %24 = tosa.matmul %22, %23, %2, %2 : (tensor<8x8x8xf32>, tensor<8x8x12xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<8x8x12xf32>
    %25 = tosa.reshape %24, %7 : (tensor<8x8x12xf32>, !tosa.shape<4>) -> tensor<2x4x8x12xf32>
    return %25 : tensor<2x4x8x12xf32>
  }
  func.func @boolean(%arg0: tensor<2x4x8x16xf32>, %arg1: tensor<2x4x8x16xf32>, %arg2: tensor<2x4x8x12xf32>, %arg3: tensor<8x8xi1>) -> tensor<2x4x8x12xf32> {
    %0 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<2x4x8x8xf32>}> : () -> tensor<2x4x8x8xf32>
    %1 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %2 = tosa.const_shape  {values = dense<[8, 8, 16]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %3 = tosa.const_shape  {values = dense<[8, 16, 8]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %4 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
    %5 = tosa.const_shape  {values = dense<[2, 4, 8, 8]> : tensor<4xindex>} : () -> !tosa.shape<4>
    %6 = tosa.const_shape  {values = dense<[1, 1, 8, 8]> : tensor<4xindex>} : () -> !tosa.shape<4>
    %7 = tosa.const_shape  {values = dense<8> : tensor<3xindex>} : () -> !tosa.shape<3>
    %8 = tosa.const_shape  {values = dense<[8, 8, 12]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %9 = tosa.const_shape  {values = dense<[2, 4, 8, 12]> : tensor<4xindex>} : () -> !tosa.shape<4>
    %10 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
    %11 = "tosa.const"() <{values = dense<0xFF800000> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
    %12 = "tosa.const"() <{values = dense<5.000000e-01> : tensor<1x1x1x1xf32>}> : () -> tensor<1x1x1x1xf32>
    %13 = "tosa.const"() <{values = dense<0xFFF0000000000000> : tensor<1x1x1x1xf64>}> : () -> tensor<1x1x1x1xf64>
    %14 = tosa.select %arg3, %10, %11 : (tensor<8x8xi1>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<8x8xf32>
    %15 = tosa.mul %arg0, %12, %1 : (tensor<2x4x8x16xf32>, tensor<1x1x1x1xf32>, tensor<1xi8>) -> tensor<2x4x8x16xf32>
    %16 = tosa.transpose %arg1 {perms = array<i32: 0, 1, 3, 2>} : (tensor<2x4x8x16xf32>) -> tensor<2x4x16x8xf32>
    %17 = tosa.mul %16, %12, %1 : (tensor<2x4x16x8xf32>, tensor<1x1x1x1xf32>, tensor<1xi8>) -> tensor<2x4x16x8xf32>
    %18 = tosa.reshape %15, %2 : (tensor<2x4x8x16xf32>, !tosa.shape<3>) -> tensor<8x8x16xf32>
    %19 = tosa.reshape %17, %3 : (tensor<2x4x16x8xf32>, !tosa.shape<3>) -> tensor<8x16x8xf32>
    %20 = tosa.matmul %18, %19, %4, %4 : (tensor<8x8x16xf32>, tensor<8x16x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<8x8x8xf32>
    %21 = tosa.reshape %20, %5 : (tensor<8x8x8xf32>, !tosa.shape<4>) -> tensor<2x4x8x8xf32>
    %22 = tosa.reshape %14, %6 : (tensor<8x8xf32>, !tosa.shape<4>) -> tensor<1x1x8x8xf32>
    %23 = tosa.add %21, %22 : (tensor<2x4x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x4x8x8xf32>
    %24 = tosa.reduce_max %23 {axis = 3 : i32} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x1xf32>
    %25 = tosa.sub %23, %24 : (tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) -> tensor<2x4x8x8xf32>
    %26 = tosa.exp %25 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
    %27 = tosa.reduce_sum %26 {axis = 3 : i32} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x1xf32>
    %28 = tosa.reciprocal %27 : (tensor<2x4x8x1xf32>) -> tensor<2x4x8x1xf32>
    %29 = tosa.mul %26, %28, %1 : (tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>, tensor<1xi8>) -> tensor<2x4x8x8xf32>
    %30 = tosa.cast %23 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf64>
    %31 = tosa.equal %30, %13 : (tensor<2x4x8x8xf64>, tensor<1x1x1x1xf64>) -> tensor<2x4x8x8xi1>
    %32 = tosa.reduce_all %31 {axis = 3 : i32} : (tensor<2x4x8x8xi1>) -> tensor<2x4x8x1xi1>
    %33 = tosa.select %32, %0, %29 : (tensor<2x4x8x1xi1>, tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
    %34 = tosa.reshape %33, %7 : (tensor<2x4x8x8xf32>, !tosa.shape<3>) -> tensor<8x8x8xf32>
    %35 = tosa.reshape %arg2, %8 : (tensor<2x4x8x12xf32>, !tosa.shape<3>) -> tensor<8x8x12xf32>
    %36 = tosa.matmul %34, %35, %4, %4 : (tensor<8x8x8xf32>, tensor<8x8x12xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<8x8x12xf32>
    %37 = tosa.reshape %36, %9 : (tensor<8x8x12xf32>, !tosa.shape<4>) -> tensor<2x4x8x12xf32>
    return %37 : tensor<2x4x8x12xf32>
  }
  func.func @half(%arg0: tensor<2x4x8x16xf16>, %arg1: tensor<2x4x8x16xf16>, %arg2: tensor<2x4x8x12xf16>, %arg3: tensor<2x1x8x8xi1>) -> tensor<2x4x8x12xf16> {
    %0 = tosa.const_shape  {values = dense<[8, 8, 16]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %1 = tosa.const_shape  {values = dense<[8, 16, 8]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %2 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf16>}> : () -> tensor<1xf16>
    %3 = tosa.const_shape  {values = dense<[2, 4, 8, 8]> : tensor<4xindex>} : () -> !tosa.shape<4>
    %4 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %5 = tosa.const_shape  {values = dense<8> : tensor<3xindex>} : () -> !tosa.shape<3>
    %6 = tosa.const_shape  {values = dense<[8, 8, 12]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %7 = tosa.const_shape  {values = dense<[2, 4, 8, 12]> : tensor<4xindex>} : () -> !tosa.shape<4>
    %8 = "tosa.const"() <{values = dense<2.500000e-01> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %9 = "tosa.const"() <{values = dense<-6.550400e+04> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
    %10 = tosa.transpose %arg1 {perms = array<i32: 0, 1, 3, 2>} : (tensor<2x4x8x16xf16>) -> tensor<2x4x16x8xf16>
    %11 = tosa.reshape %arg0, %0 : (tensor<2x4x8x16xf16>, !tosa.shape<3>) -> tensor<8x8x16xf16>
    %12 = tosa.reshape %10, %1 : (tensor<2x4x16x8xf16>, !tosa.shape<3>) -> tensor<8x16x8xf16>
    %13 = tosa.matmul %11, %12, %2, %2 : (tensor<8x8x16xf16>, tensor<8x16x8xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x8x8xf32>
    %14 = tosa.cast %13 : (tensor<8x8x8xf32>) -> tensor<8x8x8xf16>
    %15 = tosa.reshape %14, %3 : (tensor<8x8x8xf16>, !tosa.shape<4>) -> tensor<2x4x8x8xf16>
    %16 = tosa.mul %15, %8, %4 : (tensor<2x4x8x8xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x8x8xf16>
    %17 = tosa.select %arg3, %9, %16 : (tensor<2x1x8x8xi1>, tensor<1x1x1x1xf16>, tensor<2x4x8x8xf16>) -> tensor<2x4x8x8xf16>
    %18 = tosa.cast %17 : (tensor<2x4x8x8xf16>) -> tensor<2x4x8x8xf32>
    %19 = tosa.reduce_max %18 {axis = 3 : i32} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x1xf32>
    %20 = tosa.sub %18, %19 : (tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) -> tensor<2x4x8x8xf32>
    %21 = tosa.exp %20 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
    %22 = tosa.reduce_sum %21 {axis = 3 : i32} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x1xf32>
    %23 = tosa.reciprocal %22 : (tensor<2x4x8x1xf32>) -> tensor<2x4x8x1xf32>
    %24 = tosa.mul %21, %23, %4 : (tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>, tensor<1xi8>) -> tensor<2x4x8x8xf32>
    %25 = tosa.cast %24 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf16>
    %26 = tosa.reshape %25, %5 : (tensor<2x4x8x8xf16>, !tosa.shape<3>) -> tensor<8x8x8xf16>
    %27 = tosa.reshape %arg2, %6 : (tensor<2x4x8x12xf16>, !tosa.shape<3>) -> tensor<8x8x12xf16>
    %28 = tosa.matmul %26, %27, %2, %2 : (tensor<8x8x8xf16>, tensor<8x8x12xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<8x8x12xf32>
    %29 = tosa.cast %28 : (tensor<8x8x12xf32>) -> tensor<8x8x12xf16>
    %30 = tosa.reshape %29, %7 : (tensor<8x8x12xf16>, !tosa.shape<4>) -> tensor<2x4x8x12xf16>
    return %30 : tensor<2x4x8x12xf16>
  }
}

