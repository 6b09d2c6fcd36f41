// SPDX-License-Identifier: GPL-3.0-or-later
// c (m, n) = op(a) (m, k) op(b) (k, n), and what follows it.
//
// First all of B is packed, shared by all threads. Then c is computed in blocks of 48 x 128: the block's rows of A are
// packed, the product is accumulated in FP32 in a block that stays in the first cache, and there bias, activation,
// residual, counting and rounding are done before anything is written to c. The size of a block is the same for every
// instruction set, because a block is what the statistics are summed over.
#include "engine/backend/cpu/gemm.h"

#include <algorithm>

#include "engine/backend/cpu/element_kernels.h"
#include "engine/backend/cpu/gemm_pack.h"
#include "engine/backend/cpu/store.h"
#include "engine/numerics/cast.h"

namespace halfscope::cpu {

namespace {

constexpr std::int64_t kBlockRows = 48; // a multiple of every tileRows
constexpr std::int64_t kBlockCols = 128;
constexpr std::int64_t kMostSliceBlocks = 4;      // blocks of rows that somebody else multiplies at a time
constexpr double kNanosecondsPerMultiply = 0.025; // on one thread, to decide whether others are worth waking

enum SharedBuffer { kPackedB, kBias, kWideA };
enum LocalBuffer { kPackedA, kProduct, kOperandBlock, kStored, kPackScratch, kSlice };

std::int64_t roundUp(std::int64_t a, std::int64_t to) { return ceilDivide(a, to) * to; }

class Product {
public:
    Product(Context& context, const Gemm& args)
        : m_context(context),
          m_args(args),
          m_kernels(gemmKernels()),
          m_m(args.c.rows()),
          m_n(args.c.cols()),
          m_k(args.transposeA ? args.a.rows() : args.a.cols()),
          m_rowBlocks(ceilDivide(m_m, kBlockRows)),
          m_colBlocks(ceilDivide(m_n, kBlockCols)),
          m_slots(context.slots, args.probe, m_rowBlocks * m_colBlocks),
          m_activatedSlots(context.secondSlots, args.epilogue == Epilogue::Activate ? args.activatedProbe : nullptr,
                           m_rowBlocks * m_colBlocks)
    {
    }

    void run()
    {
        prepareA();
        prepareB();
        prepareBias();
        // A job is a strip of blocks side by side, so that packed rows of A are used more than once; strips are shorter
        // where there would be too few of them to keep all threads busy.
        const std::int64_t wanted = m_context.pool.threads() == 1 ? 1 : 4 * m_context.pool.threads();
        const std::int64_t strips = std::clamp<std::int64_t>(ceilDivide(wanted, m_rowBlocks), 1, m_colBlocks);
        const std::int64_t length = ceilDivide(m_colBlocks, strips);
        const std::int64_t perRow = ceilDivide(m_colBlocks, length);
        m_context.pool.parallelFor(m_rowBlocks * perRow, work(), [&](std::int64_t job, int worker) {
            const std::int64_t first = job % perRow * length;
            computeStrip(job / perRow, first, std::min(first + length, m_colBlocks), worker);
        });
        m_slots.finish();
        m_activatedSlots.finish();
    }

    void run(const ProductRows& product)
    {
        prepareBias();
        const std::int64_t length =
            std::clamp<std::int64_t>(m_rowBlocks / m_context.pool.threads(), 1, kMostSliceBlocks);
        m_context.pool.parallelFor(ceilDivide(m_rowBlocks, length), work(), [&](std::int64_t slice, int worker) {
            const std::int64_t row = slice * length * kBlockRows;
            const std::int64_t rows = std::min(length * kBlockRows, m_m - row);
            float* values = m_context.local<float>(worker, kSlice, rows * m_n);
            product(row, rows, values, worker);
            finishSlice(row, rows, values, worker);
        });
        m_slots.finish();
        m_activatedSlots.finish();
    }

private:
    struct Block {
        std::int64_t row;
        std::int64_t col;
        std::int64_t rows;
        std::int64_t cols;
        std::int64_t index;
        int worker;
        std::int64_t size() const { return rows * cols; }
    };

    double work() const
    {
        return kNanosecondsPerMultiply * static_cast<double>(m_m) * static_cast<double>(m_n) *
               static_cast<double>(m_k + 8);
    }

    void prepareBias()
    {
        if (m_args.bias != nullptr) {
            m_bias = readElements(*m_args.bias, 0, m_n, m_context.shared<float>(kBias, m_n));
        }
    }

    // The strips read a transposed A in many short pieces, for which widening one by one is slow: it is widened first.
    void prepareA()
    {
        const Tensor& a = m_args.a;
        m_a = Operand::of(a, m_args.transposeA, m_args.tf32);
        const FormatId format = m_a.format;
        if (!m_args.transposeA || format == FormatId::Fp32) {
            return;
        }
        float* wide = m_context.shared<float>(kWideA, a.size());
        const double nanoseconds = 0.15 * static_cast<double>(a.size());
        m_context.pool.parallelFor(ceilDivide(a.size(), kChunkElements), nanoseconds, [&](std::int64_t chunk, int) {
            const std::int64_t first = chunk * kChunkElements;
            readAsFloats(format, elementAddress(a, first), wide + first, std::min(kChunkElements, a.size() - first));
        });
        m_a = Operand::of(wide, a.cols(), true);
    }

    void prepareB()
    {
        const Operand b = Operand::of(m_args.b, m_args.transposeB, m_args.tf32);
        float* to = m_context.shared<float>(kPackedB, roundUp(m_n, m_kernels.tileCols) * m_k);
        const double nanoseconds = 0.5 * static_cast<double>(m_n) * static_cast<double>(m_k);
        m_context.pool.parallelFor(m_colBlocks, nanoseconds, [&](std::int64_t block, int worker) {
            const std::int64_t col = block * kBlockCols;
            packB(m_kernels, b, col, std::min(kBlockCols, m_n - col), m_k, to,
                  m_context.local<float>(worker, kPackScratch, packScratchSize(m_kernels)));
        });
        m_packedB = to;
    }

    void computeStrip(std::int64_t rowBlock, std::int64_t firstCol, std::int64_t endCol, int worker)
    {
        const std::int64_t row = rowBlock * kBlockRows;
        const std::int64_t rows = std::min(kBlockRows, m_m - row);
        float* packedA = m_context.local<float>(worker, kPackedA, kBlockRows * m_k);
        packA(m_kernels, m_a, row, rows, m_k, packedA,
              m_context.local<float>(worker, kPackScratch, packScratchSize(m_kernels)));
        for (std::int64_t colBlock = firstCol; colBlock < endCol; ++colBlock) {
            const std::int64_t col = colBlock * kBlockCols;
            const Block block{row,   col, rows, std::min(kBlockCols, m_n - col), rowBlock * m_colBlocks + colBlock,
                              worker};
            finishBlock(block, multiply(block, packedA));
        }
    }

    // `values` (rows, n) is the product of whole blocks of rows.
    void finishSlice(std::int64_t row, std::int64_t rows, const float* values, int worker)
    {
        float* product = m_context.local<float>(worker, kProduct, kBlockRows * kBlockCols);
        for (std::int64_t first = 0; first < rows; first += kBlockRows) {
            for (std::int64_t col = 0; col < m_n; col += kBlockCols) {
                const Block block{row + first,
                                  col,
                                  std::min(kBlockRows, rows - first),
                                  std::min(kBlockCols, m_n - col),
                                  (row + first) / kBlockRows * m_colBlocks + col / kBlockCols,
                                  worker};
                for (std::int64_t i = 0; i < block.rows; ++i) {
                    std::copy_n(values + (first + i) * m_n + col, block.cols, product + i * block.cols);
                }
                finishBlock(block, product);
            }
        }
    }

    // The product of a block, contiguous.
    float* multiply(const Block& block, const float* packedA)
    {
        float* product = m_context.local<float>(block.worker, kProduct, kBlockRows * kBlockCols);
        const std::int64_t stride = roundUp(block.cols, m_kernels.tileCols);
        const float* packedB = m_packedB + block.col * m_k;
        std::int64_t k = 0;
        do { // once even when k is 0: that makes zeros
            const std::int64_t depth = std::min(m_kernels.depth, m_k - k);
            m_kernels.multiply({packedA + k * m_kernels.tileRows, m_k * m_kernels.tileRows,
                                ceilDivide(block.rows, m_kernels.tileRows), packedB + k * m_kernels.tileCols,
                                m_k * m_kernels.tileCols, ceilDivide(block.cols, m_kernels.tileCols), depth, product,
                                stride, k > 0});
            k += depth;
        } while (k < m_k);
        if (stride != block.cols) {
            for (std::int64_t i = 1; i < block.rows; ++i) {
                std::copy_n(product + i * stride, block.cols, product + i * block.cols);
            }
        }
        return product;
    }

    // The block's part of a tensor of c's shape, as contiguous FP32.
    const float* operandBlock(const Tensor& t, const Block& block)
    {
        float* to = m_context.local<float>(block.worker, kOperandBlock, kBlockRows * kBlockCols);
        if (block.cols == m_n) {
            return readElements(t, block.row * m_n, block.size(), to);
        }
        for (std::int64_t i = 0; i < block.rows; ++i) {
            widenArray(t.format(), elementAddress(t, (block.row + i) * m_n + block.col), to + i * block.cols,
                       static_cast<std::size_t>(block.cols));
        }
        return to;
    }

    void finishBlock(const Block& block, float* product)
    {
        const ElementKernels& elements = elementKernels();
        const auto size = static_cast<std::size_t>(block.size());
        if (m_args.alpha != 1.0F) {
            elements.scale(product, size, m_args.alpha);
        }
        if (m_bias != nullptr) {
            for (std::int64_t i = 0; i < block.rows; ++i) {
                float* line = product + i * block.cols;
                elements.add(line, m_bias + block.col, line, static_cast<std::size_t>(block.cols));
            }
        }
        void* stored = m_context.local<float>(block.worker, kStored, kBlockRows * kBlockCols);
        const bool gelu = m_args.activation == Activation::Gelu;
        if (m_args.epilogue == Epilogue::AddResidual) {
            Sink::roundInPlace(m_args.productFormat, product, block.size(), stored);
            if (m_args.productFactor != 1.0F) {
                elements.scale(product, size, m_args.productFactor);
            }
            elements.add(operandBlock(*m_args.operand, block), product, product, size);
        } else if (m_args.epilogue == Epilogue::ActivationBackward) {
            const float* x = operandBlock(*m_args.operand, block);
            gelu ? elements.geluBackward(product, x, size) : elements.reluBackward(product, x, size);
        }
        Tensor& c = m_args.c;
        m_slots.sink(c.format(), block.index)
            .storeBlock(product, block.rows, block.cols, elementAddress(c, block.row * m_n + block.col), m_n, stored);
        if (m_args.epilogue != Epilogue::Activate) {
            return;
        }
        if (c.format() != FormatId::Fp32) {
            widenArray(c.format(), stored, product, size);
        }
        gelu ? elements.gelu(product, product, size) : elements.relu(product, product, size);
        Tensor& activated = *m_args.activated;
        m_activatedSlots.sink(activated.format(), block.index)
            .storeBlock(product, block.rows, block.cols, elementAddress(activated, block.row * m_n + block.col), m_n,
                        stored);
    }

    Context& m_context;
    const Gemm& m_args;
    const GemmKernels& m_kernels;
    std::int64_t m_m;
    std::int64_t m_n;
    std::int64_t m_k;
    std::int64_t m_rowBlocks;
    std::int64_t m_colBlocks;
    ProbeSlots m_slots;
    ProbeSlots m_activatedSlots;
    Operand m_a;
    const float* m_packedB = nullptr;
    const float* m_bias = nullptr;
};

} // namespace

void gemm(Context& context, const Gemm& args)
{
    Product product(context, args);
    if (args.c.empty()) {
        return;
    }
    product.run();
}

void gemm(Context& context, const Gemm& args, const ProductRows& product)
{
    Product finish(context, args);
    if (args.c.empty()) {
        return;
    }
    finish.run(product);
}

} // namespace halfscope::cpu
