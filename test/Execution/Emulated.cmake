# What is lowered for GPUs, on the emulator.

attn_add_unittest(AttnEmulatedDecodingTests
  EmulatedDecodingTest.cpp EmulatedSequencesTest.cpp EmulatedStepTest.cpp
  EmulatedTensorsTest.cpp
  LINK AttnRuleTestHelpers)
attn_add_unittest(AttnEmulatedRegionsTests
  EmulatedDropoutTest.cpp EmulatedRegionsTest.cpp MathTest.cpp
  LINK AttnRuleTestHelpers)
attn_add_unittest(AttnEmulatedTrafficTests EmulatedTrafficTest.cpp
  LINK AttnCodegen AttnDeviceDialects AttnKernelDialects AttnPipelines THREADS)
attn_use_mlir(AttnEmulatedTrafficTests)
attn_add_unittest(AttnEmulatorTests
  EmulatedAttentionTest.cpp EmulatedErrorsTest.cpp EmulatedKernelsTest.cpp
  EmulatedMbarriersTest.cpp EmulatedOperationsTest.cpp EmulatedProductsTest.cpp
  EmulatedSharesTest.cpp EmulatedWarpgroupsTest.cpp
  EmulatorTesting.cpp WarpgroupTesting.cpp
  LINK AttnCodegen AttnDeviceDialects AttnExecutionTestHelpers AttnKernelDialects
    AttnPipelines THREADS)
attn_use_mlir(AttnEmulatorTests)

# What is lowered for GPUs runs on the emulator, under two schedules; three specs share a
# kernel. What warpgroups multiply also runs as on a GPU of sm_90a.
if(ATTN_SANITIZERS)
  attn_add_specs(random-specs-gpu 3 --gpu --seed 601)
else()
  attn_add_specs(random-specs-gpu 6 --gpu --seed 601)
  attn_add_specs(random-specs-warpgroups 4 --warpgroups --seed 801)
endif()
attn_add_specs(random-specs-gpu-nightly 150 --gpu --seed 30001)
attn_add_specs(random-specs-warpgroups-nightly 150 --warpgroups --seed 50001)
