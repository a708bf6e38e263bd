// Forms of attention that differ in how a scale, a mask and a softmax are written.
// raise-forms.test says what becomes of each.

#all = affine_map<(a, b, c, d) -> (a, b, c, d)>
#row = affine_map<(a, b, c, d) -> (a, b, c)>
#keys = affine_map<(a, b, c, d) -> (a, d)>
#pairs = affine_map<(a, b, c, d) -> (c, d)>
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#p = affine_map<(b, h, i, d, j) -> (b, h, i, j)>
#v = affine_map<(b, h, i, d, j) -> (b, h, j, d)>
#o = affine_map<(b, h, i, d, j) -> (b, h, i, d)>

func.func @divided_by_root(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %t = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %unused: f32):
      %d = arith.constant 8.0 : f32
      %r = math.sqrt %d : f32
      %x = arith.divf %a0, %r : f32
      linalg.yield %x : f32
  } -> tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @times_rsqrt(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %t = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %unused: f32):
      %d = arith.constant 8.0 : f32
      %r = math.rsqrt %d : f32
      %x = arith.mulf %a0, %r : f32
      linalg.yield %x : f32
  } -> tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @power(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %t = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %unused: f32):
      %d = arith.constant 8.0 : f32
      %h = arith.constant -0.5 : f32
      %r = math.powf %d, %h : f32
      %x = arith.mulf %a0, %r : f32
      linalg.yield %x : f32
  } -> tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @root_of_an_integer(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %t = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %unused: f32):
      %d = arith.constant 8 : i64
      %g = arith.sitofp %d : i64 to f32
      %r = math.sqrt %g : f32
      %x = arith.divf %a0, %r : f32
      linalg.yield %x : f32
  } -> tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @neutral_factors(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %t = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %unused: f32):
      %d = arith.constant 8.0 : f32
      %one = arith.constant 1.0 : f32
      %d1 = arith.mulf %d, %one : f32
      %wide = arith.extf %d1 : f32 to f64
      %d2 = arith.truncf %wide : f64 to f32
      %r = math.rsqrt %d2 : f32
      %x = arith.mulf %a0, %r : f32
      linalg.yield %x : f32
  } -> tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @padding(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>, %m: tensor<2x7xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %t = linalg.generic
      {indexing_maps = [#all, #keys, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x3x5x7xf32>, tensor<2x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: f32, %unused: f32):
      %one = arith.constant 1.0 : f32
      %big = arith.constant -1.0e4 : f32
      %h = arith.subf %one, %a1 : f32
      %u = arith.mulf %h, %big : f32
      %x = arith.addf %a0, %u : f32
      linalg.yield %x : f32
  } -> tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @log_softmax(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %r = tensor.empty() : tensor<2x3x5xf32>
  %low = arith.constant 0xFF800000 : f32
  %ri = linalg.fill ins(%low : f32)
      outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %rz = linalg.fill ins(%zero : f32)
      outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %mx = linalg.reduce { arith.maximumf } ins(%s : tensor<2x3x5x7xf32>)
      outs(%ri : tensor<2x3x5xf32>) dimensions = [3]
  %c = linalg.generic
      {indexing_maps = [#all, #row, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %mx : tensor<2x3x5x7xf32>, tensor<2x3x5xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: f32, %unused: f32):
      %x = arith.subf %a0, %a1 : f32
      linalg.yield %x : f32
  } -> tensor<2x3x5x7xf32>
  %x = linalg.exp ins(%c : tensor<2x3x5x7xf32>) outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<2x3x5x7xf32>)
      outs(%rz : tensor<2x3x5xf32>) dimensions = [3]
  %l = linalg.log ins(%sum : tensor<2x3x5xf32>) outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %lp = linalg.generic
      {indexing_maps = [#all, #row, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %l : tensor<2x3x5x7xf32>, tensor<2x3x5xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: f32, %unused: f32):
      %x1 = arith.subf %a0, %a1 : f32
      linalg.yield %x1 : f32
  } -> tensor<2x3x5x7xf32>
  %p = linalg.exp ins(%lp : tensor<2x3x5x7xf32>) outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @log_sum_exp(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %r = tensor.empty() : tensor<2x3x5xf32>
  %low = arith.constant 0xFF800000 : f32
  %ri = linalg.fill ins(%low : f32)
      outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %rz = linalg.fill ins(%zero : f32)
      outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %mx = linalg.reduce { arith.maximumf } ins(%s : tensor<2x3x5x7xf32>)
      outs(%ri : tensor<2x3x5xf32>) dimensions = [3]
  %c = linalg.generic
      {indexing_maps = [#all, #row, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %mx : tensor<2x3x5x7xf32>, tensor<2x3x5xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: f32, %unused: f32):
      %x = arith.subf %a0, %a1 : f32
      %y2 = math.exp %x : f32
      linalg.yield %y2 : f32
  } -> tensor<2x3x5x7xf32>
  %sum = linalg.reduce { arith.addf } ins(%c : tensor<2x3x5x7xf32>)
      outs(%rz : tensor<2x3x5xf32>) dimensions = [3]
  %l = linalg.log ins(%sum : tensor<2x3x5xf32>) outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %lse = linalg.add ins(%l, %mx : tensor<2x3x5xf32>, tensor<2x3x5xf32>) outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %p = linalg.generic
      {indexing_maps = [#all, #row, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %lse : tensor<2x3x5x7xf32>, tensor<2x3x5xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: f32, %unused: f32):
      %x1 = arith.subf %a0, %a1 : f32
      %x2 = math.exp %x1 : f32
      linalg.yield %x2 : f32
  } -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @half_scaled(%q: tensor<2x3x5x8xf16>, %k: tensor<2x3x7x8xf16>,
    %v: tensor<2x3x7x4xf16>) -> tensor<2x3x5x4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x3x5x7xf16>
  %e32 = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f16)
      outs(%e : tensor<2x3x5x7xf16>) -> tensor<2x3x5x7xf16>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf16>, tensor<2x3x7x8xf16>)
      outs(%z : tensor<2x3x5x7xf16>) -> tensor<2x3x5x7xf16>
  %w = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x5x7xf16>)
      outs(%e32 : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f16, %unused: f32):
      %c = arith.constant 0.25 : f32
      %x = arith.extf %a0 : f16 to f32
      %x1 = arith.mulf %x, %c : f32
      linalg.yield %x1 : f32
  } -> tensor<2x3x5x7xf32>
  %p32 = linalg.softmax dimension(3) ins(%w : tensor<2x3x5x7xf32>)
      outs(%e32 : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %p = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p32 : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf16>) {
    ^bb0(%a0: f32, %unused: f16):
      %x = arith.truncf %a0 : f32 to f16
      linalg.yield %x : f16
  } -> tensor<2x3x5x7xf16>
  %f = tensor.empty() : tensor<2x3x5x4xf16>
  %y = linalg.fill ins(%zero : f16)
      outs(%f : tensor<2x3x5x4xf16>) -> tensor<2x3x5x4xf16>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf16>, tensor<2x3x7x4xf16>)
      outs(%y : tensor<2x3x5x4xf16>) -> tensor<2x3x5x4xf16>
  return %o : tensor<2x3x5x4xf16>
}

func.func @root_of_a_half(%q: tensor<2x3x5x8xf16>, %k: tensor<2x3x7x8xf16>,
    %v: tensor<2x3x7x4xf16>) -> tensor<2x3x5x4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x3x5x7xf16>
  %e32 = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f16)
      outs(%e : tensor<2x3x5x7xf16>) -> tensor<2x3x5x7xf16>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf16>, tensor<2x3x7x8xf16>)
      outs(%z : tensor<2x3x5x7xf16>) -> tensor<2x3x5x7xf16>
  %w = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x5x7xf16>)
      outs(%e32 : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f16, %unused: f32):
      %d = arith.constant 16.0 : f16
      %root = math.sqrt %d : f16
      %r = arith.extf %root : f16 to f32
      %x = arith.extf %a0 : f16 to f32
      %x1 = arith.divf %x, %r : f32
      linalg.yield %x1 : f32
  } -> tensor<2x3x5x7xf32>
  %p32 = linalg.softmax dimension(3) ins(%w : tensor<2x3x5x7xf32>)
      outs(%e32 : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %p = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p32 : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf16>) {
    ^bb0(%a0: f32, %unused: f16):
      %x = arith.truncf %a0 : f32 to f16
      linalg.yield %x : f16
  } -> tensor<2x3x5x7xf16>
  %f = tensor.empty() : tensor<2x3x5x4xf16>
  %y = linalg.fill ins(%zero : f16)
      outs(%f : tensor<2x3x5x4xf16>) -> tensor<2x3x5x4xf16>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf16>, tensor<2x3x7x4xf16>)
      outs(%y : tensor<2x3x5x4xf16>) -> tensor<2x3x5x4xf16>
  return %o : tensor<2x3x5x4xf16>
}

func.func @negative_infinity_added(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>, %m: tensor<5x7xi1>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %t = linalg.generic
      {indexing_maps = [#all, #pairs, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x3x5x7xf32>, tensor<5x7xi1>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: i1, %unused: f32):
      %low = arith.constant 0xFF800000 : f32
      %n = arith.constant 0.0 : f32
      %u = arith.select %a1, %n, %low : f32
      %x = arith.addf %a0, %u : f32
      linalg.yield %x : f32
  } -> tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @least_number_added(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>, %m: tensor<5x7xi1>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %t = linalg.generic
      {indexing_maps = [#all, #pairs, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x3x5x7xf32>, tensor<5x7xi1>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: i1, %unused: f32):
      %low = arith.constant -1.0e9 : f32
      %n = arith.constant 0.0 : f32
      %u = arith.select %a1, %n, %low : f32
      %x = arith.addf %a0, %u : f32
      linalg.yield %x : f32
  } -> tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @compared_maximum(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %r = tensor.empty() : tensor<2x3x5xf32>
  %low = arith.constant 0xFF800000 : f32
  %ri = linalg.fill ins(%low : f32)
      outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %rz = linalg.fill ins(%zero : f32)
      outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %mx = linalg.generic
      {indexing_maps = [#all, #row],
       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x3x5x7xf32>)
      outs(%ri : tensor<2x3x5xf32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.cmpf ogt, %a, %b : f32
      %d = arith.select %c, %a, %b : f32
      linalg.yield %d : f32
  } -> tensor<2x3x5xf32>
  %x = linalg.generic
      {indexing_maps = [#all, #row, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %mx : tensor<2x3x5x7xf32>, tensor<2x3x5xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: f32, %unused: f32):
      %x0 = arith.subf %a0, %a1 : f32
      %y2 = math.exp %x0 : f32
      linalg.yield %y2 : f32
  } -> tensor<2x3x5x7xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<2x3x5x7xf32>)
      outs(%rz : tensor<2x3x5xf32>) dimensions = [3]
  %p = linalg.generic
      {indexing_maps = [#all, #row, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %sum : tensor<2x3x5x7xf32>, tensor<2x3x5xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: f32, %unused: f32):
      %x1 = arith.divf %a0, %a1 : f32
      linalg.yield %x1 : f32
  } -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

func.func @divided_at_the_end(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>,
    %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %r = tensor.empty() : tensor<2x3x5xf32>
  %low = arith.constant 0xFF800000 : f32
  %ri = linalg.fill ins(%low : f32)
      outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %rz = linalg.fill ins(%zero : f32)
      outs(%r : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %mx = linalg.reduce { arith.maximumf } ins(%s : tensor<2x3x5x7xf32>)
      outs(%ri : tensor<2x3x5xf32>) dimensions = [3]
  %p = linalg.generic
      {indexing_maps = [#all, #row, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %mx : tensor<2x3x5x7xf32>, tensor<2x3x5xf32>)
      outs(%e : tensor<2x3x5x7xf32>) {
    ^bb0(%a0: f32, %a1: f32, %unused: f32):
      %x = arith.subf %a0, %a1 : f32
      %y2 = math.exp %x : f32
      linalg.yield %y2 : f32
  } -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x3x5x4xf32>
  %y = linalg.fill ins(%zero : f32)
      outs(%f : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o]
      ins(%p, %v : tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}
