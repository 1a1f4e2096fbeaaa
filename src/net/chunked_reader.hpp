// SPDX-License-Identifier: Apache-2.0
// The chunked transfer coding of a request's body, read strictly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace athanor::net {

// Decodes one body over any number of reads. Not thread-safe.
class ChunkedReader {
 public:
  enum class State : std::uint8_t { More, Done, Malformed, TooLarge };

  // Limits the body: more bytes are TooLarge; much framing around few of them is Malformed.
  explicit ChunkedReader(std::size_t limit) : limit_(limit) {}
  // Appends what the front of `input` carries to `body` and adds the bytes read to `taken`. Chunk
  // extensions and trailers are read and dropped: a trailer must not pose as a header.
  State read(std::string_view input, std::size_t& taken, std::string& body);

 private:
  enum class Part : std::uint8_t { Size, Data, DataEnd, Trailer };
  State read_data(std::string_view input, std::size_t& taken, std::string& body);
  State read_line(std::string_view line);
  State read_size(std::string_view line);

  const std::size_t limit_;
  Part part_ = Part::Size;
  std::size_t left_ = 0;      // bytes of the chunk that did not come yet
  std::size_t total_ = 0;     // bytes of all chunks so far
  std::size_t trailers_ = 0;  // bytes of trailers
  std::size_t searched_ = 0;  // bytes of the line that are known to hold no end
  std::size_t framing_ = 0;   // bytes of lines that carried nothing
};

}  // namespace athanor::net
