// SPDX-License-Identifier: Apache-2.0
// Chunks: size line, data, line end; then trailers and an empty line (RFC 9112, 7.1).
#include "net/chunked_reader.hpp"

#include <algorithm>
#include <charconv>

#include "net/request_head.hpp"

namespace athanor::net {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kTrailerLimit = 8192;
constexpr std::size_t kMostDigits = 16;
constexpr std::size_t kFramingLimit = std::size_t{64} * 1024;  // beyond what the chunks excuse
constexpr std::size_t kExcusedLine = 16;                       // of each chunk's size line

}  // namespace

ChunkedReader::State ChunkedReader::read(std::string_view input, std::size_t& taken,
                                         std::string& body) {
  State state = State::More;
  while (state == State::More && taken < input.size()) {
    if (part_ == Part::Data) {
      state = read_data(input, taken, body);
      continue;
    }
    const std::string_view rest = input.substr(taken);
    const std::size_t end = rest.find('\n', searched_);
    if (std::min(end, rest.size()) > kLongestLine) {
      return State::Malformed;
    }
    if (end == std::string_view::npos) {
      searched_ = rest.size();
      return State::More;
    }
    searched_ = 0;
    if (end == 0 || rest[end - 1] != '\r') {
      return State::Malformed;
    }
    state = read_line(rest.substr(0, end - 1));
    taken += end + 1;
  }
  return state;
}

ChunkedReader::State ChunkedReader::read_data(std::string_view input, std::size_t& taken,
                                              std::string& body) {
  const std::string_view data = input.substr(taken, left_);
  body += data;
  taken += data.size();
  left_ -= data.size();
  if (left_ == 0) {
    part_ = Part::DataEnd;
  }
  return State::More;
}

ChunkedReader::State ChunkedReader::read_line(std::string_view line) {
  switch (part_) {
    case Part::Size:
      return read_size(line);
    case Part::DataEnd:
      part_ = Part::Size;
      return line.empty() ? State::More : State::Malformed;
    case Part::Trailer:
      trailers_ += line.size();
      if (line.empty()) {
        return State::Done;
      }
      return trailers_ <= kTrailerLimit && is_field_value(line) ? State::More : State::Malformed;
    case Part::Data:
      break;
  }
  return State::Malformed;
}

ChunkedReader::State ChunkedReader::read_size(std::string_view line) {
  const std::string_view digits = line.substr(0, line.find(';'));
  std::uint64_t size = 0;
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
  if (digits.empty() || digits.size() > kMostDigits || failure != std::errc() ||
      end != digits.data() + digits.size() || !is_field_value(line)) {
    return State::Malformed;
  }
  if (size > limit_ - total_) {
    return State::TooLarge;
  }
  total_ += size;
  left_ = size;
  // Extensions, and chunks of a few bytes, cost more than they bring.
  const std::size_t excused = kExcusedLine + size;
  framing_ += line.size();
  framing_ -= std::min(framing_, excused);
  if (framing_ > kFramingLimit) {
    return State::Malformed;
  }
  part_ = size == 0 ? Part::Trailer : Part::Data;
  return State::More;
}

}  // namespace athanor::net
