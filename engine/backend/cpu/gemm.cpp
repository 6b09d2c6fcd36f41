// SPDX-License-Identifier: GPL-3.0-or-later
// c (m, n) = op(a) (m, k) op(b) (k, n), and what follows it.
//
// First all of B is packed, shared by all threads. Then c is computed in blocks of 48 x 128: the block's rows of A are
// packed unless they can be read where they lie, and the product is accumulated in FP32, in c itself where it is FP32
// and the block is made of whole tiles, else in scratch memory that stays in the cache. There bias, activation,
// residual, counting and rounding follow. The size of a block is the same for every instruction set, because a block is
// what the statistics are summed over.
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
constexpr std::int64_t kPackedLines = 32;         // of a transposed A that are packed at a time
constexpr std::int64_t kPanelPadding = 17 * 16;   // floats: pieces of 16 k of panels do not crowd the same cache sets
constexpr double kNanosecondsPerMultiply = 0.025; // on one thread, to decide whether others are worth waking

enum SharedBuffer { kPackedB, kBias, kPackedTransposed };
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

    // The values of a block where they lie.
    struct Lines {
        float* first;
        std::int64_t stride; // floats from a row to the next
    };

    // f(values, count) for all of them, in as few pieces as they lie in.
    template <typename F>
    static void eachPiece(const Block& block, const Lines& values, F&& f)
    {
        if (values.stride == block.cols) {
            f(values.first, block.size());
            return;
        }
        for (std::int64_t i = 0; i < block.rows; ++i) {
            f(values.first + i * values.stride, block.cols);
        }
    }

    // f(values, count, index) likewise in pieces that are contiguous in c as well; index is the first one's in c.
    template <typename F>
    void eachPieceOfC(const Block& block, const Lines& values, F&& f) const
    {
        if (block.cols == m_n) {
            f(values.first, block.size(), block.row * m_n);
            return;
        }
        for (std::int64_t i = 0; i < block.rows; ++i) {
            f(values.first + i * values.stride, block.cols, (block.row + i) * m_n + block.col);
        }
    }

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

    // Of a transposed A a block would read a short piece of every row, which is slow: it is packed whole, as it lies.
    void prepareA()
    {
        m_a = Operand::of(m_args.a, m_args.transposeA, m_args.tf32);
        if (!m_args.transposeA) {
            return;
        }
        m_panelA = m_k * m_kernels.tileRows + kPanelPadding;
        float* to = m_context.shared<float>(kPackedTransposed, ceilDivide(m_m, m_kernels.tileRows) * m_panelA);
        const double nanoseconds = 0.3 * static_cast<double>(m_m) * static_cast<double>(m_k);
        m_context.pool.parallelFor(ceilDivide(m_k, kPackedLines), nanoseconds, [&](std::int64_t chunk, int worker) {
            const std::int64_t k = chunk * kPackedLines;
            packTransposedA(m_kernels, m_a, k, std::min(kPackedLines, m_k - k), m_m, m_panelA, to, packScratch(worker));
        });
        m_packedA = to;
    }

    void prepareB()
    {
        const Operand b = Operand::of(m_args.b, m_args.transposeB, m_args.tf32);
        m_panelB = m_k * m_kernels.tileCols + kPanelPadding;
        float* to = m_context.shared<float>(kPackedB, ceilDivide(m_n, m_kernels.tileCols) * m_panelB);
        const double nanoseconds = 0.5 * static_cast<double>(m_n) * static_cast<double>(m_k);
        m_context.pool.parallelFor(m_colBlocks, nanoseconds, [&](std::int64_t block, int worker) {
            const std::int64_t col = block * kBlockCols;
            packB(m_kernels, b, col, std::min(kBlockCols, m_n - col), m_k, to, m_panelB, packScratch(worker));
        });
        m_packedB = to;
    }

    PanelsA panelsOf(std::int64_t row, std::int64_t rows, int worker)
    {
        const std::int64_t width = m_kernels.tileRows;
        if (m_args.transposeA) {
            return {m_packedA + row / width * m_panelA, m_panelA, 0, width};
        }
        float* to = m_context.local<float>(worker, kPackedA, panelsSizeA(m_kernels, kBlockRows, m_k));
        return panelsA(m_kernels, m_a, row, rows, m_k, to, packScratch(worker));
    }

    float* packScratch(int worker) { return m_context.local<float>(worker, kPackScratch, packScratchSize(m_kernels)); }

    void computeStrip(std::int64_t rowBlock, std::int64_t firstCol, std::int64_t endCol, int worker)
    {
        const std::int64_t row = rowBlock * kBlockRows;
        const std::int64_t rows = std::min(kBlockRows, m_m - row);
        const PanelsA panels = panelsOf(row, rows, worker);
        for (std::int64_t colBlock = firstCol; colBlock < endCol; ++colBlock) {
            const std::int64_t col = colBlock * kBlockCols;
            const Block block{row,   col, rows, std::min(kBlockCols, m_n - col), rowBlock * m_colBlocks + colBlock,
                              worker};
            finishBlock(block, multiply(block, panels));
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
                finishBlock(block, {product, block.cols});
            }
        }
    }

    // Where values of the block are computed that are to be stored in a tensor of c's shape: there if it is FP32, else
    // in a buffer. What is measured must be contiguous.
    Lines place(const Block& block, Tensor& to, const CastProbe* probe)
    {
        if (to.format() == FormatId::Fp32 && (block.cols == m_n || probe == nullptr || !probe->measure)) {
            return {to.as<float>() + block.row * m_n + block.col, m_n};
        }
        return {m_context.local<float>(block.worker, kProduct, kBlockRows * kBlockCols), block.cols};
    }

    Lines multiply(const Block& block, const PanelsA& a)
    {
        const bool whole = block.rows % m_kernels.tileRows == 0 && block.cols % m_kernels.tileCols == 0;
        const bool operandIsC = m_args.operand != nullptr && m_args.operand->data() == m_args.c.data();
        if (whole && !operandIsC) {
            const Lines lines = place(block, m_args.c, m_args.probe);
            multiply(block, a, lines.first, lines.stride);
            return lines;
        }
        float* product = m_context.local<float>(block.worker, kProduct, kBlockRows * kBlockCols);
        const std::int64_t stride = roundUp(block.cols, m_kernels.tileCols);
        multiply(block, a, product, stride);
        if (stride != block.cols) {
            for (std::int64_t i = 1; i < block.rows; ++i) {
                std::copy_n(product + i * stride, block.cols, product + i * block.cols);
            }
        }
        return {product, block.cols};
    }

    void multiply(const Block& block, const PanelsA& a, float* to, std::int64_t stride)
    {
        const float* packedB = m_packedB + block.col / m_kernels.tileCols * m_panelB;
        std::int64_t k = 0;
        do { // once even when k is 0: that makes zeros
            const std::int64_t depth = std::min(m_kernels.depth, m_k - k);
            m_kernels.multiply({a.first + k * a.step, a.panel, a.row, ceilDivide(block.rows, m_kernels.tileRows),
                                packedB + k * m_kernels.tileCols, m_panelB, ceilDivide(block.cols, m_kernels.tileCols),
                                depth, to, stride, k > 0});
            k += depth;
        } while (k < m_k);
    }

    void finishBlock(const Block& block, const Lines& product)
    {
        const ElementKernels& elements = elementKernels();
        if (m_args.alpha != 1.0F) {
            eachPiece(block, product, [&](float* values, std::int64_t n) {
                elements.scale(values, static_cast<std::size_t>(n), m_args.alpha);
            });
        }
        if (m_bias != nullptr) {
            for (std::int64_t i = 0; i < block.rows; ++i) {
                float* line = product.first + i * product.stride;
                elements.add(line, m_bias + block.col, line, static_cast<std::size_t>(block.cols));
            }
        }
        void* stored = m_context.local<float>(block.worker, kStored, kBlockRows * kBlockCols);
        const bool gelu = m_args.activation == Activation::Gelu;
        if (m_args.epilogue == Epilogue::AddResidual) {
            addResidual(block, product, stored);
        } else if (m_args.epilogue == Epilogue::ActivationBackward) {
            eachPieceOfC(block, product, [&](float* values, std::int64_t n, std::int64_t index) {
                const float* x = readElements(*m_args.operand, index, n, operandBuffer(block));
                gelu ? elements.geluBackward(values, x, static_cast<std::size_t>(n))
                     : elements.reluBackward(values, x, static_cast<std::size_t>(n));
            });
        }
        store(block, product, m_args.c, m_slots, stored);
        if (m_args.epilogue != Epilogue::Activate) {
            return;
        }
        const Lines activated = place(block, *m_args.activated, m_args.activatedProbe);
        eachPieceOfC(block, activated, [&](float* values, std::int64_t n, std::int64_t index) {
            const float* x = product.first + (index - block.row * m_n - block.col) / m_n * product.stride;
            if (m_args.c.format() != FormatId::Fp32) {
                x = readElements(m_args.c, index, n, values);
            }
            gelu ? elements.gelu(x, values, static_cast<std::size_t>(n))
                 : elements.relu(x, values, static_cast<std::size_t>(n));
        });
        store(block, activated, *m_args.activated, m_activatedSlots, stored);
    }

    void addResidual(const Block& block, const Lines& product, void* stored)
    {
        const ElementKernels& elements = elementKernels();
        eachPiece(block, product, [&](float* values, std::int64_t n) {
            Sink::roundInPlace(m_args.productFormat, values, n, stored);
            if (m_args.productFactor != 1.0F) {
                elements.scale(values, static_cast<std::size_t>(n), m_args.productFactor);
            }
        });
        eachPieceOfC(block, product, [&](float* values, std::int64_t n, std::int64_t index) {
            elements.add(readElements(*m_args.operand, index, n, operandBuffer(block)), values, values,
                         static_cast<std::size_t>(n));
        });
    }

    float* operandBuffer(const Block& block)
    {
        return m_context.local<float>(block.worker, kOperandBlock, kBlockRows * kBlockCols);
    }

    void store(const Block& block, const Lines& values, Tensor& to, ProbeSlots& slots, void* stored)
    {
        slots.sink(to.format(), block.index)
            .storeBlock(values.first, values.stride, block.rows, block.cols,
                        elementAddress(to, block.row * m_n + block.col), m_n, stored);
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
    const float* m_packedA = nullptr; // the whole of a transposed A
    std::int64_t m_panelA = 0;        // floats from a panel of that to the next
    const float* m_packedB = nullptr;
    std::int64_t m_panelB = 0;
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
