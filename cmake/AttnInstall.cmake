# What `cmake --install` puts where, beside the tools: the host API as a CMake
# package, found with find_package(Attn) and linked as Attn::attn, and with
# COMPONENTS Dialect the dialect and its passes for other compilers on MLIR.

include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Attn)
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
install(EXPORT AttnTargets NAMESPACE Attn:: DESTINATION ${package})

# Includes are paths from the top of the tree, as here.
if(NOT ATTN_COMPILER)
  set(headers ${CMAKE_INSTALL_INCLUDEDIR}/attn-compiler)
  install(TARGETS ${ATTN_COMPILER_LIBRARIES} EXPORT AttnDialectTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    install(DIRECTORY ${root}/dialect DESTINATION ${headers} FILES_MATCHING
      PATTERN *.h PATTERN *.td PATTERN *.h.inc PATTERN CMakeFiles EXCLUDE)
    install(DIRECTORY ${root}/lib DESTINATION ${headers} FILES_MATCHING
      PATTERN Passes.h PATTERN Passes.h.inc PATTERN Passes.td PATTERN Pipelines.h
      PATTERN Registration.h PATTERN CMakeFiles EXCLUDE)
  endforeach()
  install(EXPORT AttnDialectTargets NAMESPACE Attn:: DESTINATION ${package})
endif()

configure_package_config_file(cmake/AttnConfig.cmake.in
  ${PROJECT_BINARY_DIR}/AttnConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/AttnConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/AttnConfig.cmake
  ${PROJECT_BINARY_DIR}/AttnConfigVersion.cmake DESTINATION ${package})
