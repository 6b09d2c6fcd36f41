// SPDX-License-Identifier: GPL-3.0-or-later
// A file that appears whole or not at all: written under a temporary name in the same folder, flushed to the disk, then
// renamed over the old one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace halfscope {

// Every failure throws std::runtime_error with one sentence naming the file and the reason; the old file is then as it
// was.
class AtomicFile {
public:
    // Opens the temporary file. A target that is a symbolic link is followed; one that exists and is no regular file is
    // refused.
    explicit AtomicFile(const std::filesystem::path& target);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile(); // what was not published is removed

    void write(std::string_view bytes); // buffered: an error may show up in a later call
    void flush();                       // what was written so far can be read under the temporary name
    void keep() { m_keep = true; }      // what was not published stays, under the temporary name
    void complete();                    // everything is on the disk, under the temporary name
    void publish();                     // takes the target's place; completes first if need be

    const std::filesystem::path& target() const { return m_target; }

private:
    [[noreturn]] void fail(int error) const;

    std::filesystem::path m_target;
    std::string m_temporary; // empty once published
    std::string m_buffer;
    int m_descriptor = -1; // -1: completed
    bool m_keep = false;
    int m_error = 0; // errno of the write that failed
};

// Creates the folder and those above it.
void createFolder(const std::filesystem::path& folder);

} // namespace halfscope
