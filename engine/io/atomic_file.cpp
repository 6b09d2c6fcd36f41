// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/atomic_file.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace halfscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = 1U << 18U;

std::string explain(int error)
{
    const std::string reason = std::generic_category().message(error);
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return reason + "; free some space or choose another folder.";
    case EACCES:
    case EPERM:
    case EROFS:
        return reason + "; choose a folder you may write to.";
    case ENOENT:
        return reason + "; the folder is missing or was deleted, choose another one.";
    case EFBIG:
        return reason + "; raise the limit on the size of files, or measure fewer steps.";
    default:
        return reason + ".";
    }
}

// Where a symbolic link leads; the path itself if it is none.
fs::path followLink(const fs::path& path)
{
    std::error_code error;
    if (!fs::is_symlink(path, error))
        return path;
    fs::path target = path;
    for (int links = 0; links < 40 && fs::is_symlink(target, error); ++links) { // one that leads nowhere yet, too
        const fs::path next = fs::read_symlink(target, error);
        if (error)
            return path;
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    return target;
}

// The permissions of the file that is about to be replaced, or those of any new file.
mode_t permissionsFor(const fs::path& target)
{
    struct stat old = {};
    if (stat(target.c_str(), &old) == 0)
        return old.st_mode & 0777U;
    const mode_t mask = umask(0);
    umask(mask);
    return 0666U & ~mask;
}

void syncFolder(const fs::path& folder)
{
    const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return; // the rename happened; only its surviving a power cut is not certain
    fsync(descriptor);
    close(descriptor);
}

} // namespace

AtomicFile::AtomicFile(const fs::path& target) : m_target(followLink(target))
{
    std::error_code ignored;
    const fs::file_status status = fs::status(m_target, ignored);
    if (fs::is_directory(status))
        fail(EISDIR);
    if (fs::exists(status) && !fs::is_regular_file(status))
        throw std::runtime_error("Cannot write \"" + m_target.string() +
                                 "\": it exists and is not a regular file; choose another name.");
    // A name that says what it is, should the machine go down before it is renamed.
    std::string pattern = m_target.string() + ".part-XXXXXX";
    m_descriptor = mkostemp(pattern.data(), O_CLOEXEC);
    if (m_descriptor < 0)
        fail(errno);
    m_temporary = std::move(pattern);
    fchmod(m_descriptor, permissionsFor(m_target)); // where a file system has no permissions, none are missed
    m_buffer.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile()
{
    if (m_descriptor >= 0)
        close(m_descriptor);
    if (!m_temporary.empty() && !m_keep)
        unlink(m_temporary.c_str());
}

void AtomicFile::fail(int error) const
{
    throw std::runtime_error("Cannot write \"" + m_target.string() + "\": " + explain(error));
}

void AtomicFile::write(std::string_view bytes)
{
    m_buffer += bytes;
    if (m_buffer.size() >= kBufferBytes)
        flush();
}

void AtomicFile::flush()
{
    // After a failure the file would have a hole or say things twice; it is not written to, nor published, any more.
    if (m_error != 0)
        fail(m_error);
    if (m_descriptor < 0) // completed
        return;
    std::string_view rest = m_buffer;
    while (!rest.empty()) {
        const ssize_t n = ::write(m_descriptor, rest.data(), rest.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            m_error = n < 0 ? errno : EIO;
            fail(m_error);
        }
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    m_buffer.clear();
    struct stat now = {};
    if (fstat(m_descriptor, &now) == 0 && now.st_nlink == 0) { // the folder was deleted: nothing would be left
        m_error = ENOENT;
        fail(m_error);
    }
}

void AtomicFile::complete()
{
    if (m_descriptor < 0)
        return;
    std::error_code ignored;
    if (fs::is_directory(m_target, ignored)) // since it was opened; of a set of files none is published then
        fail(EISDIR);
    flush();
    if (fsync(m_descriptor) != 0 && errno != EINVAL) // EINVAL: a file system that cannot, and need not
        fail(errno);
    const int descriptor = std::exchange(m_descriptor, -1);
    if (close(descriptor) != 0)
        fail(errno);
}

void AtomicFile::publish()
{
    if (m_temporary.empty())
        return;
    complete();
    if (rename(m_temporary.c_str(), m_target.c_str()) != 0)
        fail(errno);
    m_temporary.clear();
    syncFolder(m_target.parent_path());
}

void createFolder(const fs::path& folder)
{
    std::error_code error;
    fs::create_directories(folder, error);
    if (error || !fs::is_directory(folder)) {
        throw std::runtime_error("Cannot create the folder \"" + folder.string() +
                                 "\": " + explain(error ? error.value() : ENOTDIR));
    }
}

} // namespace halfscope
