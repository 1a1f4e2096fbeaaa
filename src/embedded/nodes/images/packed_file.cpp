// SPDX-License-Identifier: Apache-2.0
// zlib reads plain files, too; zstd's frames are told by their first bytes.
#include "embedded/nodes/images/packed_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/descriptor.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kFrame{"\x28\xb5\x2f\xfd", 4};
constexpr std::string_view kSkipped{"\x2a\x4d\x18", 3};  // after 0x50 to 0x5f
// 128 MiB, as zstd's own program allows: more needs more memory than an image may ask for.
constexpr int kLargestWindow = 27;

bool is_zstd(std::string_view begin) {
  return begin.starts_with(kFrame) ||
         (begin.size() == kFrame.size() && (begin[0] & 0xf0) == 0x50 && begin.ends_with(kSkipped));
}

Error not_unpacked(std::string_view why) {
  return Error::bad_request(fmt::format("the archive is damaged: it cannot be uncompressed{}{}",
                                        why.empty() ? "" : ": ", why));
}

}  // namespace

// Exactly one of plain_ and stream_ is set.
class PackedFile::Impl {
 public:
  explicit Impl(gzFile plain) : plain_(plain) {}
  Impl(Descriptor packed, ZSTD_DStream* stream) : packed_(std::move(packed)), stream_(stream) {
    input_.resize(ZSTD_DStreamInSize());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (plain_ != nullptr) {
      gzclose(plain_);
    }
    ZSTD_freeDStream(stream_);
  }

  // As read(), but fewer bytes may come before the end.
  Result<std::size_t> read_some(char* buffer, std::size_t size) {
    return plain_ != nullptr ? read_plain(buffer, size) : read_packed(buffer, size);
  }

 private:
  Result<std::size_t> read_plain(char* buffer, std::size_t size) {
    const int count = gzread(plain_, buffer, static_cast<unsigned>(size));
    return count < 0 ? Result<std::size_t>(not_unpacked({})) : static_cast<std::size_t>(count);
  }

  Result<std::size_t> read_packed(char* buffer, std::size_t size) {
    ZSTD_outBuffer output{.dst = buffer, .size = size, .pos = 0};
    while (output.pos == 0) {
      if (next_.pos == next_.size) {
        const ssize_t count = ::read(packed_.get(), input_.data(), input_.size());
        if (count < 0 && errno == EINTR) {
          continue;
        }
        if (count <= 0) {
          return in_frame_ ? Result<std::size_t>(not_unpacked("it ends within a frame"))
                           : std::size_t{0};
        }
        next_ = {.src = input_.data(), .size = static_cast<std::size_t>(count), .pos = 0};
      }
      const std::size_t left = ZSTD_decompressStream(stream_, &output, &next_);
      if (ZSTD_isError(left) != 0) {
        return not_unpacked(ZSTD_getErrorName(left));
      }
      in_frame_ = left != 0;
    }
    return output.pos;
  }

  gzFile plain_ = nullptr;
  Descriptor packed_{};
  ZSTD_DStream* stream_ = nullptr;
  std::vector<char> input_{};
  ZSTD_inBuffer next_{.src = nullptr, .size = 0, .pos = 0};
  bool in_frame_ = false;
};

Result<PackedFile> PackedFile::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char begin[kFrame.size()];
  const ssize_t count = file.valid() ? ::pread(file.get(), begin, sizeof begin, 0) : -1;
  if (count == sizeof begin && is_zstd({begin, sizeof begin})) {
    ZSTD_DStream* stream = ZSTD_createDStream();
    if (stream == nullptr) {
      return Error::internal("out of memory");
    }
    ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, kLargestWindow);
    return PackedFile(std::make_unique<Impl>(std::move(file), stream));
  }
  constexpr unsigned kBuffer = 1U << 18U;
  const bool is_piped = count < 0 && errno == ESPIPE;  // never zstd: its first bytes are not kept
  const gzFile plain = count < 0 && !is_piped ? nullptr : gzdopen(file.release(), "rb");
  if (plain == nullptr) {
    return Error::not_found(fmt::format("{}: cannot be read", path));
  }
  gzbuffer(plain, kBuffer);
  return PackedFile(std::make_unique<Impl>(plain));
}

PackedFile::PackedFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PackedFile::PackedFile(PackedFile&& other) noexcept = default;
PackedFile& PackedFile::operator=(PackedFile&& other) noexcept = default;
PackedFile::~PackedFile() = default;

Result<std::size_t> PackedFile::read(char* buffer, std::size_t size) {
  std::size_t count = 0;
  while (count < size) {
    ATHANOR_TRY(const std::size_t part, impl_->read_some(buffer + count, size - count));
    if (part == 0) {
      break;
    }
    count += part;
  }
  return count;
}

}  // namespace athanor::nodes
