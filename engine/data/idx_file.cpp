// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/idx_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <type_traits>

namespace halfscope {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what)
{
    throw std::runtime_error("\"" + path + "\" " + what);
}

struct Close {
    void operator()(gzFile file) const { gzclose(file); }
};

class Reader {
public:
    explicit Reader(const std::string& path) : m_path(path)
    {
        std::error_code error;
        const std::filesystem::file_status status = std::filesystem::status(path, error);
        if (status.type() == std::filesystem::file_type::not_found)
            fail(path, "does not exist; check the name of the IDX file.");
        if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
            fail(path, "is not a regular file; choose an IDX file.");
        errno = 0;
        m_file.reset(gzopen(path.c_str(), "rbe")); // reads what is not packed as it is
        if (!m_file)
            fail(path, "cannot be opened: " + std::generic_category().message(errno == 0 ? ENOMEM : errno) + ".");
        gzbuffer(m_file.get(), 1U << 17U);
    }

    // At most `size` bytes; fewer only at the end.
    std::size_t read(std::uint8_t* to, std::size_t size)
    {
        constexpr std::size_t kAtOnce = std::size_t{1} << 24U;
        std::size_t done = 0;
        while (done < size) {
            const int count = gzread(m_file.get(), to + done, static_cast<unsigned>(std::min(kAtOnce, size - done)));
            if (count < 0)
                failReading();
            if (count == 0)
                break;
            done += static_cast<std::size_t>(count);
        }
        int code = Z_OK;
        gzerror(m_file.get(), &code);
        if (code != Z_OK && code != Z_STREAM_END) // the packed data end in the middle
            failReading();
        return done;
    }

private:
    [[noreturn]] void failReading()
    {
        int code = Z_OK;
        gzerror(m_file.get(), &code);
        if (code == Z_ERRNO)
            fail(m_path, "cannot be read: " + std::generic_category().message(errno) + ".");
        if (code == Z_BUF_ERROR)
            fail(m_path, "is cut off: its packed data end too early; get the file again.");
        fail(m_path, "is damaged: its packed data do not fit together; get the file again.");
    }

    const std::string& m_path;
    std::unique_ptr<std::remove_pointer_t<gzFile>, Close> m_file;
};

std::string counted(std::size_t lowest, std::size_t highest)
{
    return std::to_string(lowest) + (lowest == highest ? "" : " to " + std::to_string(highest));
}

} // namespace

IdxArray readIdx(const std::string& path, std::size_t lowest, std::size_t highest)
{
    constexpr std::uint8_t kUnsignedByte = 0x08;
    Reader reader(path);
    std::array<std::uint8_t, 4> magic{};
    if (reader.read(magic.data(), magic.size()) < magic.size() || magic[0] != 0 || magic[1] != 0 || magic[3] == 0)
        fail(path, "is not an IDX file; its first four bytes would be 0, 0, 8 and the number of dimensions.");
    if (magic[2] != kUnsignedByte)
        fail(path, "holds numbers that are not unsigned bytes (type " + std::to_string(magic[2]) +
                       " instead of 8); HalfScope reads IDX files of bytes.");
    const std::size_t dimensions = magic[3];
    if (dimensions < lowest || dimensions > highest) {
        fail(path, "has " + std::to_string(dimensions) + (dimensions == 1 ? " dimension" : " dimensions") +
                       " instead of " + counted(lowest, highest) +
                       "; images have 3 (number, height, width), labels 1.");
    }
    IdxArray array;
    std::size_t total = 1;
    for (std::size_t d = 0; d < dimensions; ++d) {
        std::array<std::uint8_t, 4> number{};
        if (reader.read(number.data(), number.size()) < number.size())
            fail(path, "is cut off within its header; get the file again.");
        std::size_t size = 0;
        for (const std::uint8_t byte : number)
            size = size << 8U | byte;
        if (size == 0)
            fail(path, "holds nothing: dimension " + std::to_string(d + 1) + " is 0.");
        if (size > kMaxIdxBytes / total) {
            fail(path, "would hold more than " + std::to_string(kMaxIdxBytes >> 20U) +
                           " MiB by its header, the most HalfScope takes.");
        }
        total *= size;
        array.sizes.push_back(size);
    }
    // Grows with what is really there: a header can say anything.
    constexpr std::size_t kBlock = std::size_t{1} << 24U;
    while (array.bytes.size() < total) {
        const std::size_t before = array.bytes.size();
        const std::size_t wanted = std::min(kBlock, total - before);
        array.bytes.resize(before + wanted);
        const std::size_t got = reader.read(array.bytes.data() + before, wanted);
        if (got < wanted) {
            fail(path, "is cut off: " + std::to_string(before + got) + " of the " + std::to_string(total) +
                           " bytes its header promises; get the file again.");
        }
    }
    std::uint8_t more = 0;
    if (reader.read(&more, 1) > 0)
        fail(path, "is longer than the " + std::to_string(total) + " bytes its header promises.");
    return array;
}

} // namespace halfscope
