# Prints a kernel whose mask has a comparison and `count` operations after it.
BEGIN {
  type = "tensor<1x1x8x8xf32>"
  print "func.func @attend(%q: " type ", %k: " type ", %v: " type ") -> " type " {"
  print "  %init = tensor.empty() : " type
  print "  %0 = attn.attention ins(%q, %k, %v : " type ", " type ", " type ")"
  print "      outs(%init : " type ") mask (%b, %h, %p, %j) {"
  print "    %keep0 = arith.cmpi sle, %j, %p : index"
  for (i = 1; i <= count; ++i)
    print "    %keep" i " = arith.xori %keep" i - 1 ", %keep0 : i1"
  print "    attn.yield %keep" count " : i1"
  print "  }"
  print "  return %0 : " type
  print "}"
}
