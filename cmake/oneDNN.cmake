# SPDX-License-Identifier: GPL-3.0-or-later
# Adds the oneDNN backend, or the reason why it is absent, to halfscope_backend (option HALFSCOPE_ONEDNN).
#
# The library's own CMake package is not asked: it insists on OpenCL's development files, which are not needed here.
set(onednn_found FALSE)
if(HALFSCOPE_ONEDNN)
    find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
    find_library(DNNL_LIBRARY dnnl)
    find_package(OpenMP QUIET COMPONENTS CXX)
    if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY AND OpenMP_CXX_FOUND)
        set(onednn_found TRUE)
    endif()
    if(NOT onednn_found AND NOT HALFSCOPE_ONEDNN STREQUAL "AUTO")
        message(FATAL_ERROR "HALFSCOPE_ONEDNN is ON, but oneDNN or OpenMP was not found; install libdnnl-dev.")
    endif()
endif()

if(onednn_found)
    message(STATUS "oneDNN: ${DNNL_LIBRARY}")
    target_sources(halfscope_backend PRIVATE backend/onednn/onednn_backend.cpp)
    target_include_directories(halfscope_backend SYSTEM PRIVATE ${DNNL_INCLUDE_DIR})
    target_link_libraries(halfscope_backend PRIVATE ${DNNL_LIBRARY} OpenMP::OpenMP_CXX)
else()
    message(STATUS "oneDNN: no")
    target_sources(halfscope_backend PRIVATE backend/onednn/onednn_absent.cpp)
endif()
