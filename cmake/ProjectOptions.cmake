# SPDX-License-Identifier: GPL-3.0-or-later
# halfscope::options: language level, warnings and sanitizers, for every target of ours.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # The sloppiness is what ccache asks for where headers are precompiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
endif()

add_library(halfscope_options INTERFACE)
add_library(halfscope::options ALIAS halfscope_options)
target_include_directories(halfscope_options INTERFACE "${PROJECT_SOURCE_DIR}")
# No contraction: a*b+c rounds twice unless the code asks for fma, so the three builds of a kernel agree bit for bit.
set(options -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow=local -Wconversion -Wno-sign-conversion)
if(HALFSCOPE_WERROR)
    # GCC 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
    list(APPEND options -Werror $<$<CXX_COMPILER_ID:GNU>:-Wno-error=restrict>)
endif()
if(HALFSCOPE_SANITIZE)
    list(APPEND options -fsanitize=${HALFSCOPE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(halfscope_options INTERFACE -fsanitize=${HALFSCOPE_SANITIZE})
    if(HALFSCOPE_SANITIZE MATCHES "undefined")
        list(APPEND options -fno-sanitize-recover=all)
    endif()
endif()
# nvcc has flags of its own.
target_compile_options(halfscope_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${options}>")

# halfscope_precompile(TARGET header ...): for targets that spend most of their build reading large headers.
function(halfscope_precompile target)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    if(CCACHE_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -fpch-preprocess) # or ccache keeps nothing
    endif()
endfunction()

# halfscope_simd_sources(TARGET file.cpp ...): compiles each file once for every instruction set this architecture has
# and links all of them into TARGET. The file sees HALFSCOPE_SIMD_NAMESPACE (portable, avx2, avx512) and
# HALFSCOPE_SIMD_WIDTH (floats a native vector: 4, 8, 16).
function(halfscope_simd_sources target)
    set(levels portable)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        list(APPEND levels avx2 avx512)
    endif()
    set(flags_portable "")
    set(width_portable 4)
    set(flags_avx2 -mavx2 -mfma -mf16c)
    set(width_avx2 8)
    set(flags_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
    set(width_avx512 16)
    foreach(level IN LISTS levels)
        add_library(${target}_${level} OBJECT ${ARGN})
        target_link_libraries(${target}_${level} PRIVATE halfscope::options)
        target_compile_options(${target}_${level} PRIVATE ${flags_${level}} -fno-math-errno -fno-trapping-math)
        if(HALFSCOPE_SANITIZE)
            # Kernels are thousands of inlined one-line functions with a few locals each: these checks, which only ever
            # look at those locals, make compiling them take many minutes. Accesses to memory are checked as everywhere.
            target_compile_options(${target}_${level} PRIVATE -fno-sanitize=null,alignment,object-size,vptr)
            if(HALFSCOPE_SANITIZE MATCHES "address")
                target_compile_options(${target}_${level} PRIVATE -fno-sanitize-address-use-after-scope)
            endif()
        endif()
        target_compile_definitions(${target}_${level} PRIVATE HALFSCOPE_SIMD_NAMESPACE=${level}
                                   HALFSCOPE_SIMD_WIDTH=${width_${level}})
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${level}>)
        if(NOT level STREQUAL "portable")
            target_compile_definitions(${target} PRIVATE HALFSCOPE_HAVE_X86)
        endif()
    endforeach()
endfunction()
