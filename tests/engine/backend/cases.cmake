# SPDX-License-Identifier: GPL-3.0-or-later
# The operations' cases that run on every backend, with what they share: backend_cases, a list of files. Whoever compiles
# them says by test::cpu() which backend is tested.
set(backend_cases)
foreach(name IN ITEMS attention_test embedding_test fp8_test gemm_test layer_norm_test mean_pool_test narrow_adamw_test
        tf32_test training_test whole_tensor_test reference support)
    list(APPEND backend_cases ${CMAKE_CURRENT_LIST_DIR}/${name}.cpp)
endforeach()
