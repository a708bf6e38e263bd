# What `cmake --install` puts where, beside the tools: the host API as a CMake
# package, found with find_package(Attn) and linked as Attn::attn.

include(CMakePackageConfigHelpers)

install(DIRECTORY runtime/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(libraries attn attn-runtime)
if(TARGET attn-onnx)
  list(APPEND libraries attn-onnx)
endif()
install(TARGETS ${libraries} EXPORT AttnTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# ONNX Runtime opens it by its path.
install(TARGETS attn-onnxruntime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Attn)
install(EXPORT AttnTargets FILE AttnConfig.cmake NAMESPACE Attn:: DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/AttnConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/AttnConfigVersion.cmake DESTINATION ${package})
