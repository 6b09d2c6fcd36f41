# SPDX-License-Identifier: GPL-3.0-or-later
# Whether there is a CUDA toolkit with a compiler for the module (option HALFSCOPE_CUDA): sets HALFSCOPE_CUDA_FOUND.
# To be included from the top-level CMakeLists, because a language is enabled for its directory and those below.
set(HALFSCOPE_CUDA_FOUND FALSE)
if(NOT HALFSCOPE_CUDA)
    return()
endif()
include(CheckLanguage)
check_language(CUDA)
find_package(CUDAToolkit QUIET)
if(CMAKE_CUDA_COMPILER AND CUDAToolkit_FOUND AND TARGET CUDA::cudart_static AND TARGET CUDA::cublas AND
   TARGET CUDA::cublasLt)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        # Machine code for these, and PTX of the last for what comes after.
        set(CMAKE_CUDA_ARCHITECTURES "75-real;80-real;86-real;89-real;90" CACHE STRING "NVIDIA architectures")
    endif()
    set(CMAKE_CUDA_STANDARD 17) # CMake 3.25 knows no flag of nvcc for C++20
    if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
        set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
    endif()
    enable_language(CUDA)
    set(HALFSCOPE_CUDA_FOUND TRUE)
elseif(NOT HALFSCOPE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "HALFSCOPE_CUDA is ON, but no CUDA toolkit with nvcc and cuBLAS was found; install it, or put "
                        "nvcc into PATH.")
endif()
