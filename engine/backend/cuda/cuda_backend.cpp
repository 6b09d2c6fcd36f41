// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/cuda_backend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/contract.h"
#include "engine/backend/cuda/cuda_devices.h"
#include "engine/backend/cuda/errors.h"
#include "engine/backend/cuda/kernels/column_sum.cuh"
#include "engine/backend/cuda/kernels/elementwise.cuh"
#include "engine/backend/cuda/kernels/embedding.cuh"
#include "engine/backend/cuda/kernels/layer_norm.cuh"
#include "engine/backend/cuda/kernels/loss.cuh"
#include "engine/backend/cuda/kernels/mean_pool.cuh"

namespace halfscope::cuda {

namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20; // of cuBLAS, as NVIDIA advises for its newest devices

Source source(const Tensor& t) { return {t.data(), t.format()}; }
Destination destination(Tensor& t) { return {t.data(), t.format()}; }

std::string describe(const CudaDevice& d)
{
    return "CUDA · " + d.name + " (" + d.place + ") · driver for CUDA " + driverVersion();
}

} // namespace

Session::Session(int device)
{
    check(cudaSetDevice(device), "choosing the GPU");
    check(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), "making a stream");
    try {
        check(cublasCreate(&m_blas), "starting it");
        check(cublasSetStream(m_blas, m_stream), "starting it");
        // Of our own, so that its results do not depend on what it finds free.
        m_workspace = allocateDevice(kWorkspaceBytes, "cuBLAS");
        check(cublasSetWorkspace(m_blas, m_workspace.get(), kWorkspaceBytes), "starting it");
    } catch (...) {
        if (m_blas != nullptr)
            cublasDestroy(m_blas);
        cudaStreamDestroy(m_stream);
        throw;
    }
}

Session::~Session()
{
    cublasDestroy(m_blas);
    cudaStreamDestroy(m_stream);
}

CudaBackend::CudaBackend(int device)
    : m_session(device),
      m_device(describeDevice(device)),
      m_description(describe(m_device)),
      m_fp8(cuda::multipliesNatively(m_device, FormatId::Fp8E4M3), m_session.stream(), m_session.workspace(),
            kWorkspaceBytes),
      m_results(m_session.stream()),
      m_uploads(m_session.stream()),
      m_laps(m_session.stream()),
      m_flags(allocateDevice(sizeof(unsigned), "flags"))
{
}

std::string CudaBackend::name() const { return "CUDA"; }
std::string CudaBackend::description() const { return m_description; }

bool CudaBackend::multipliesNatively(FormatId inputs) const
{
    const bool fp8 = inputs == FormatId::Fp8E4M3 || inputs == FormatId::Fp8E5M2;
    return cuda::multipliesNatively(m_device, inputs) && (!fp8 || m_fp8.native());
}

bool CudaBackend::attendsNatively(FormatId inputs) const
{
    const bool fp8 = inputs == FormatId::Fp8E4M3 || inputs == FormatId::Fp8E5M2;
    return !fp8 && multipliesNatively(inputs);
}

void* CudaBackend::scratch(Purpose purpose, FormatId format, std::int64_t count)
{
    const auto bytes = static_cast<std::size_t>(count * floatFormat(format).storageBytes);
    try {
        return m_scratch[purpose].bytes(bytes);
    } catch (const BackendError&) {
        if (m_tensors.kept() == 0)
            throw;
        m_tensors.release();
        return m_scratch[purpose].bytes(bytes);
    }
}

std::optional<MemoryRoom> CudaBackend::memoryRoom() const
{
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess)
        return std::nullopt;
    return MemoryRoom{static_cast<double>(free + m_tensors.kept()), static_cast<double>(total)};
}

Tensor CudaBackend::makeTensor(FormatId format, std::int64_t rows, std::int64_t cols)
{
    contract::require(rows >= 0 && cols >= 0, "makeTensor: a size is negative");
    const std::int64_t elementBytes = floatFormat(format).storageBytes;
    if (rows > 0 && cols > std::numeric_limits<std::int64_t>::max() / elementBytes / rows) {
        throw BackendError("Out of GPU memory: a tensor of " + std::to_string(rows) + " x " + std::to_string(cols) +
                           " elements cannot be addressed; choose a smaller model or batch.");
    }
    Tensor t(format, rows, cols, m_tensors.get(static_cast<std::size_t>(rows * cols * elementBytes)));
    fillZero(t);
    return t;
}

void CudaBackend::fillZero(Tensor& t)
{
    if (!t.empty())
        check(cudaMemsetAsync(t.data(), 0, t.bytes(), m_session.stream()), "clearing memory");
}

void CudaBackend::upload(std::span<const float> host, Tensor& to)
{
    contract::require(static_cast<std::int64_t>(host.size()) == to.size(), "upload: sizes differ");
    if (to.empty())
        return;
    const bool direct = to.format() == FormatId::Fp32;
    void* wide = direct ? to.data() : scratch(Wide, to.size());
    check(cudaMemcpyAsync(wide, host.data(), host.size_bytes(), cudaMemcpyHostToDevice, m_session.stream()),
          "copying to the GPU");
    if (!direct)
        cuda::cast(m_session.stream(), {wide, FormatId::Fp32}, destination(to), to.size(), {});
}

void CudaBackend::download(const Tensor& from, std::span<float> host)
{
    contract::require(static_cast<std::int64_t>(host.size()) == from.size(), "download: sizes differ");
    if (!from.empty()) {
        const void* wide = stored(from, FormatId::Fp32, Wide);
        check(cudaMemcpyAsync(host.data(), wide, host.size_bytes(), cudaMemcpyDeviceToHost, m_session.stream()),
              "copying from the GPU");
    }
    synchronize();
}

void CudaBackend::synchronize()
{
    m_results.collect();
    m_uploads.synchronized();
    m_laps.synchronized();
}

void CudaBackend::cast(const Tensor& from, Tensor& to, CastProbe* probe)
{
    contract::sameShape(from, to, "cast: shapes differ");
    m_results.makeRoom();
    cuda::cast(m_session.stream(), source(from), destination(to), from.size(),
               m_results.probe(probe, to.format(), elementwiseBlocks(from.size())));
}

void CudaBackend::add(const Tensor& a, const Tensor& b, Tensor& to, CastProbe* probe)
{
    contract::sameShape(a, b, "add: shapes differ");
    contract::sameShape(a, to, "add: shapes differ");
    m_results.makeRoom();
    cuda::add(m_session.stream(), source(a), source(b), destination(to), a.size(),
              m_results.probe(probe, to.format(), elementwiseBlocks(a.size())));
}

void CudaBackend::dropout(const Tensor& from, Tensor& to, float p, std::uint64_t seed, CastProbe* probe)
{
    contract::dropout(from, to, p);
    m_results.makeRoom();
    DropoutRule rule{};
    rule.seed = seed;
    rule.dropAll = p >= 1.0F;
    // An element is dropped when its random number, as a fraction of 2^64, lies below p.
    rule.threshold = rule.dropAll ? 0 : static_cast<std::uint64_t>(std::ldexp(static_cast<double>(p), 64));
    rule.keep = 1.0F - p;
    cuda::dropout(m_session.stream(), source(from), destination(to), from.size(), rule,
                  m_results.probe(probe, to.format(), elementwiseBlocks(from.size())));
}

void CudaBackend::embeddingForward(std::span<const std::int32_t> tokens, const Tensor& token, const Tensor& patches,
                                   const Tensor& position, Tensor& out, CastProbe* probe)
{
    contract::embeddingForward(tokens, token, patches, position, out);
    m_results.makeRoom();
    const auto count = static_cast<std::int64_t>(tokens.size());
    std::vector<std::int32_t> rows(tokens.begin(), tokens.end());
    std::int32_t patch = 0;
    for (std::int32_t& row : rows) {
        if (row < 0)
            row = -1 - patch++;
    }
    const EmbeddingTables tables{source(token), source(patches), source(position), m_uploads.send(rows.data(), count)};
    cuda::embeddingForward(m_session.stream(), tables, destination(out), count, position.rows(), out.cols(),
                           m_results.probe(probe, out.format(), embeddingBlocks(count, out.cols())));
}

void CudaBackend::gatherRows(const Tensor& from, std::span<const std::int32_t> rows, Tensor& to, CastProbe* probe)
{
    contract::gatherRows(from, rows, to);
    m_results.makeRoom();
    const std::int32_t* sent = m_uploads.send(rows.data(), to.rows());
    cuda::gatherRows(m_session.stream(), source(from), sent, destination(to), to.rows(), to.cols(),
                     m_results.probe(probe, to.format(), embeddingBlocks(to.rows(), to.cols())));
}

void CudaBackend::meanPoolForward(const Tensor& x, Tensor& out, CastProbe* probe)
{
    contract::meanPool(out, x);
    m_results.makeRoom();
    cuda::meanPoolForward(m_session.stream(), source(x), destination(out), out.rows(), x.rows() / out.rows(), x.cols(),
                          m_results.probe(probe, out.format(), meanPoolBlocks(out.rows(), out.cols())));
}

void CudaBackend::meanPoolBackward(const Tensor& dOut, Tensor& dx, CastProbe* probe)
{
    contract::meanPool(dOut, dx);
    m_results.makeRoom();
    cuda::meanPoolBackward(m_session.stream(), source(dOut), destination(dx), dOut.rows(), dx.rows() / dOut.rows(),
                           dx.cols(), m_results.probe(probe, dx.format(), meanPoolBlocks(dx.rows(), dx.cols())));
}

void CudaBackend::tokenEmbeddingBackward(std::span<const std::int32_t> tokens, const Tensor& dOut, Tensor& dToken,
                                         CastProbe* probe)
{
    contract::tokenEmbeddingBackward(tokens, dOut, dToken);
    m_results.makeRoom();
    const std::int64_t vocabulary = dToken.rows();
    // begin[0 .. vocabulary], then the tokens' places sorted by token, in order within each.
    std::vector<std::int32_t> table(static_cast<std::size_t>(vocabulary) + 1 + tokens.size());
    std::int32_t* begin = table.data();
    std::int32_t* order = begin + vocabulary + 1;
    for (const std::int32_t t : tokens)
        ++begin[t];
    std::int32_t before = 0;
    for (std::int64_t v = 0; v <= vocabulary; ++v) {
        const std::int32_t count = v < vocabulary ? begin[v] : 0;
        begin[v] = before;
        before += count;
    }
    for (std::size_t n = 0; n < tokens.size(); ++n)
        order[begin[tokens[n]]++] = static_cast<std::int32_t>(n);
    for (std::int64_t v = vocabulary; v > 0; --v) // each now is where the next begins
        begin[v] = begin[v - 1];
    begin[0] = 0;
    const std::int32_t* sent = m_uploads.send(table.data(), static_cast<std::int64_t>(table.size()));
    cuda::tokenEmbeddingBackward(m_session.stream(), sent, sent + vocabulary + 1, source(dOut), destination(dToken),
                                 vocabulary, dToken.cols(),
                                 m_results.probe(probe, dToken.format(), embeddingBlocks(vocabulary, dToken.cols())));
}

void CudaBackend::positionEmbeddingBackward(const Tensor& dOut, Tensor& dPosition, CastProbe* probe)
{
    contract::positionEmbeddingBackward(dOut, dPosition);
    m_results.makeRoom();
    cuda::positionEmbeddingBackward(
        m_session.stream(), source(dOut), destination(dPosition), dOut.rows(), dPosition.rows(), dPosition.cols(),
        m_results.probe(probe, dPosition.format(), embeddingBlocks(dPosition.rows(), dPosition.cols())));
}

void CudaBackend::columnSum(const Tensor& from, Tensor& out, CastProbe* probe)
{
    contract::columnSum(from, out);
    if (out.empty())
        return;
    m_results.makeRoom();
    const std::int64_t cols = from.cols();
    const std::int64_t chunks = rowChunks(from.rows());
    float* partials = scratch(Partials, chunks * cols);
    columnPartials(m_session.stream(), source(from), partials, from.rows(), cols);
    sumPartials(m_session.stream(), partials, destination(out), chunks, cols, cols,
                m_results.probe(probe, out.format(), sumPartialsBlocks(cols)));
}

void CudaBackend::layerNormForward(const Tensor& x, const Tensor& gain, const Tensor& shift, Tensor& out, Tensor& mean,
                                   Tensor& rstd, CastProbe* probe)
{
    contract::layerNormForward(x, gain, shift, out, mean, rstd);
    m_results.makeRoom();
    cuda::layerNormForward(m_session.stream(), source(x), source(gain), source(shift), destination(out),
                           mean.as<float>(), rstd.as<float>(), x.rows(), x.cols(),
                           m_results.probe(probe, out.format(), rowBlocks(x.rows())));
}

void CudaBackend::layerNormBackward(const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean,
                                    const Tensor& rstd, const Tensor* residual, Tensor& dx, CastProbe* dxProbe,
                                    Tensor& dGain, Tensor& dShift, CastProbe* weightProbe)
{
    contract::layerNormBackward(dOut, x, gain, mean, rstd, residual, dx, dGain, dShift);
    m_results.makeRoom();
    const std::int64_t rows = x.rows();
    const std::int64_t cols = x.cols();
    const LayerNormInputs in{
        source(dOut),     source(x),        source(gain),
        mean.as<float>(), rstd.as<float>(), residual == nullptr ? Source{nullptr, FormatId::Fp32} : source(*residual)};
    const std::int64_t chunks = rowChunks(rows);
    float* partials = scratch(Partials, 2 * chunks * cols);
    layerNormPartials(m_session.stream(), in, partials, rows, cols); // first: dx may overwrite an input
    cuda::layerNormBackward(m_session.stream(), in, destination(dx), rows, cols,
                            m_results.probe(dxProbe, dx.format(), rowBlocks(rows)));
    sumPartials(m_session.stream(), partials, destination(dGain), chunks, 2 * cols, cols,
                m_results.probe(weightProbe, dGain.format(), sumPartialsBlocks(cols)));
    sumPartials(m_session.stream(), partials + cols, destination(dShift), chunks, 2 * cols, cols,
                m_results.probe(weightProbe, dShift.format(), sumPartialsBlocks(cols)));
}

double CudaBackend::crossEntropy(const Tensor& logits, std::span<const std::int32_t> targets, float lossScale,
                                 Tensor* dLogits, CastProbe* probe)
{
    contract::crossEntropy(logits, targets, dLogits);
    m_results.makeRoom();
    const auto rows = static_cast<std::int64_t>(targets.size());
    const std::int32_t* ids = m_uploads.send(targets.data(), rows);
    const auto predictions = static_cast<double>(rows - std::count(targets.begin(), targets.end(), -1));
    const auto factor = static_cast<float>(static_cast<double>(lossScale) / predictions);
    const FormatId format = dLogits == nullptr ? FormatId::Fp32 : dLogits->format();
    double sum = 0.0;
    cuda::crossEntropy(m_session.stream(), source(logits), ids,
                       dLogits == nullptr ? Destination{nullptr, format} : destination(*dLogits), factor, rows,
                       logits.cols(), m_results.report(&sum, rowBlocks(rows)),
                       m_results.probe(dLogits == nullptr ? nullptr : probe, format, rowBlocks(rows)));
    synchronize();
    return sum / predictions;
}

void CudaBackend::argmax(const Tensor& x, std::span<std::int32_t> columns)
{
    contract::argmax(x, columns);
    auto* found = reinterpret_cast<std::int32_t*>(scratch(Wide, x.rows()));
    cuda::argmax(m_session.stream(), source(x), found, x.rows(), x.cols());
    check(cudaMemcpyAsync(columns.data(), found, columns.size_bytes(), cudaMemcpyDeviceToHost, m_session.stream()),
          "copying from the GPU");
    synchronize();
}

Backend::Unscaled CudaBackend::unscale(const Tensor& gradient, float inverseScale, Tensor& to)
{
    Unscaled result;
    unscale(gradient, inverseScale, to, result);
    synchronize();
    return result;
}

void CudaBackend::unscale(const Tensor& gradient, float inverseScale, Tensor& to, Unscaled& result)
{
    contract::unscale(gradient, to);
    m_results.makeRoom();
    cuda::unscale(m_session.stream(), source(gradient), inverseScale, to.as<float>(), gradient.size(),
                  m_results.report(&result, unscaleBlocks(gradient.size())));
}

void CudaBackend::adamw(const AdamW& hyper, const Tensor& gradient, Tensor& weights, Tensor& moment1, Tensor& moment2,
                        UpdateProbe* probe)
{
    contract::adamw(gradient, weights, moment1, moment2);
    m_results.makeRoom();
    AdamWArguments a{};
    a.factors = adamWFactors(hyper, weights.format(), moment1.format(), moment2.format());
    a.gradient = gradient.as<float>();
    a.weights = destination(weights);
    a.moment1 = destination(moment1);
    a.moment2 = destination(moment2);
    if (probe != nullptr) {
        a.record = m_results.report(probe).record;
        a.movesIn = probe->format;
        a.moveFactor = probe->factor;
    }
    cuda::adamw(m_session.stream(), a, weights.size());
    if (probe != nullptr)
        synchronize();
}

float CudaBackend::largestMagnitude(const Tensor& t)
{
    float largest = 0.0F;
    m_results.makeRoom();
    cuda::largestMagnitude(m_session.stream(), source(t), t.size(), m_results.report(&largest));
    synchronize();
    return largest;
}

} // namespace halfscope::cuda
