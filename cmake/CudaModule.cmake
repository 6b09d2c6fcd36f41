# SPDX-License-Identifier: GPL-3.0-or-later
# The CUDA backend (option HALFSCOPE_CUDA): its loader into halfscope_backend, and, where there is a toolkit, the module
# halfscope_cuda, which the loader finds at run time. The program itself never links to CUDA.
#
# The seam: what module and program must have in common, so that one can hand C++ objects to the other. See
# engine/backend/cuda/cuda_module.h. Whoever changes one of these headers has to configure again, which the build does.
set(seam "${PROJECT_VERSION} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS}")
string(APPEND seam " ${HALFSCOPE_SANITIZE}")
foreach(header IN ITEMS backend/backend.h backend/tensor.h backend/cuda/cuda_module.h core/memory.h
        numerics/float_format.h numerics/format_id.h numerics/tensor_statistics.h numerics/update_statistics.h)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/engine/${header}")
    file(SHA256 "${PROJECT_SOURCE_DIR}/engine/${header}" hash)
    string(APPEND seam " ${hash}")
endforeach()
string(SHA256 seam "${seam}")
string(SUBSTRING "${seam}" 0 16 seam)
set_property(GLOBAL PROPERTY HALFSCOPE_CUDA_SEAM "${seam}") # for modules of tests

target_sources(halfscope_backend PRIVATE backend/cuda/cuda_loader.cpp)
target_link_libraries(halfscope_backend PUBLIC ${CMAKE_DL_LIBS})
set_property(SOURCE backend/cuda/cuda_loader.cpp APPEND PROPERTY COMPILE_DEFINITIONS HALFSCOPE_CUDA_SEAM="${seam}")

# enable_language() has to be called in the top-level CMakeLists; HALFSCOPE_CUDA_FOUND says that it was.
if(NOT HALFSCOPE_CUDA_FOUND)
    message(STATUS "CUDA: no")
    return()
endif()
message(STATUS "CUDA: ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")

file(GLOB cuda_kernels CONFIGURE_DEPENDS backend/cuda/kernels/*.cu)
file(GLOB cuda_sources CONFIGURE_DEPENDS backend/cuda/*.cpp)
list(FILTER cuda_sources EXCLUDE REGEX cuda_loader)
add_library(halfscope_cuda MODULE ${cuda_kernels} ${cuda_sources} backend/contract.cpp backend/adamw_factors.cpp)
target_compile_definitions(halfscope_cuda PRIVATE HALFSCOPE_CUDA_SEAM="${seam}")
target_link_libraries(halfscope_cuda PRIVATE halfscope_numerics CUDA::cudart_static CUDA::cublas CUDA::cublasLt)
# -fmad=false: the kernels ask for fma where they want it, so results are those of the CPU backend.
target_compile_options(halfscope_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false --expt-relaxed-constexpr>)
set_target_properties(halfscope_cuda PROPERTIES
    CUDA_STANDARD 17 CUDA_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    # CMake leaves the toolkit's folder out of the run path where the compiler knows it anyway.
    BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}" INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
# Symbols of the static libraries are for the module alone as well.
target_link_options(halfscope_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined)
install(TARGETS halfscope_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/halfscope)

# The oldest driver: any of the toolkit's major version.
string(REGEX MATCH "^[0-9]+" major "${CUDAToolkit_VERSION}")
set_property(SOURCE backend/cuda/cuda_loader.cpp APPEND PROPERTY COMPILE_DEFINITIONS
             HALFSCOPE_CUDA_MODULE="$<TARGET_FILE:halfscope_cuda>" HALFSCOPE_CUDA_VERSION=${major}000)
