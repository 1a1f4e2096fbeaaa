// SPDX-License-Identifier: Apache-2.0
// Frames of SPDY/3.1 and its compressed header blocks.
#include "embedded/apiserver/streaming/spdy.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace athanor::apiserver {
namespace {

constexpr unsigned kVersion = 3;
constexpr std::size_t kHead = 8;
constexpr std::size_t kFrameLimit = std::size_t{1} << 20;    // payload; clients send 32 KiB at most
constexpr std::size_t kHeadersLimit = std::size_t{8} << 10;  // uncompressed
constexpr std::size_t kPingSize = 4;
constexpr unsigned kSynStream = 1;
constexpr unsigned kSynReply = 2;
constexpr unsigned kRstStream = 3;
constexpr unsigned kPing = 6;
constexpr unsigned kGoAway = 7;
constexpr unsigned kSpdyFin = 1;
constexpr std::uint32_t kCancel = 5;  // status of a reset
constexpr std::uint32_t kControl = 0x80000000U;
constexpr std::uint32_t kStreamMask = 0x7FFFFFFFU;

void append_number(std::string& out, std::uint32_t number, std::size_t size) {
  for (std::size_t i = size; i > 0; --i) {
    out += static_cast<char>((number >> (8 * (i - 1))) & 0xFFU);
  }
}

std::uint32_t spdy_number_at(std::string_view bytes, std::size_t index, std::size_t size) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number = number << 8U | static_cast<unsigned char>(bytes[index + i]);
  }
  return number;
}

// The dictionary of SPDY/3 (draft 3.1, section 2.6.10.1): words with their lengths, then text.
std::string make_dictionary() {
  static constexpr std::array<std::string_view, 61> kWords = {"options",
                                                              "head",
                                                              "post",
                                                              "put",
                                                              "delete",
                                                              "trace",
                                                              "accept",
                                                              "accept-charset",
                                                              "accept-encoding",
                                                              "accept-language",
                                                              "accept-ranges",
                                                              "age",
                                                              "allow",
                                                              "authorization",
                                                              "cache-control",
                                                              "connection",
                                                              "content-base",
                                                              "content-encoding",
                                                              "content-language",
                                                              "content-length",
                                                              "content-location",
                                                              "content-md5",
                                                              "content-range",
                                                              "content-type",
                                                              "date",
                                                              "etag",
                                                              "expect",
                                                              "expires",
                                                              "from",
                                                              "host",
                                                              "if-match",
                                                              "if-modified-since",
                                                              "if-none-match",
                                                              "if-range",
                                                              "if-unmodified-since",
                                                              "last-modified",
                                                              "location",
                                                              "max-forwards",
                                                              "pragma",
                                                              "proxy-authenticate",
                                                              "proxy-authorization",
                                                              "range",
                                                              "referer",
                                                              "retry-after",
                                                              "server",
                                                              "te",
                                                              "trailer",
                                                              "transfer-encoding",
                                                              "upgrade",
                                                              "user-agent",
                                                              "vary",
                                                              "via",
                                                              "warning",
                                                              "www-authenticate",
                                                              "method",
                                                              "get",
                                                              "status",
                                                              "200 OK",
                                                              "version",
                                                              "HTTP/1.1",
                                                              "url"};
  static constexpr std::array<std::string_view, 4> kMoreWords = {"public", "set-cookie",
                                                                 "keep-alive", "origin"};
  std::string dictionary;
  const auto add = [&dictionary](std::string_view word) {
    append_number(dictionary, static_cast<std::uint32_t>(word.size()), 4);
    dictionary += word;
  };
  std::for_each(kWords.begin(), kWords.end(), add);
  std::for_each(kMoreWords.begin(), kMoreWords.end(), add);
  dictionary +=
      "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
      "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 "
      "Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 "
      "Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, "
      "Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
      "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,"
      "sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
  return dictionary;
}

const std::string& dictionary() {
  static const std::string kDictionary = make_dictionary();
  return kDictionary;
}

Bytef* bytes_of(const char* text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,cppcoreguidelines-pro-type-const-cast):
  // zlib speaks unsigned bytes and does not write to its input
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text));
}

}  // namespace

struct SpdyConnection::Zlib {
  z_stream in{};
  z_stream out{};

  Zlib() {
    inflateInit(&in);
    deflateInit(&out, Z_BEST_SPEED);
    deflateSetDictionary(&out, bytes_of(dictionary().data()),
                         static_cast<uInt>(dictionary().size()));
  }
  Zlib(const Zlib&) = delete;
  Zlib& operator=(const Zlib&) = delete;
  ~Zlib() {
    inflateEnd(&in);
    deflateEnd(&out);
  }

  // nullopt: no zlib stream, or too much of it.
  std::optional<std::string> inflate_block(std::string_view block) {
    std::string text;
    std::array<char, 4096> buffer{};
    in.next_in = bytes_of(block.data());
    in.avail_in = static_cast<uInt>(block.size());
    while (true) {
      in.next_out = bytes_of(buffer.data());
      in.avail_out = static_cast<uInt>(buffer.size());
      const int outcome = inflate(&in, Z_SYNC_FLUSH);
      text.append(buffer.data(), buffer.size() - in.avail_out);
      if (text.size() > kHeadersLimit) {
        return std::nullopt;
      }
      if (outcome == Z_NEED_DICT) {
        if (inflateSetDictionary(&in, bytes_of(dictionary().data()),
                                 static_cast<uInt>(dictionary().size())) != Z_OK) {
          return std::nullopt;
        }
      } else if (outcome == Z_BUF_ERROR || (outcome == Z_OK && in.avail_out > 0)) {
        return text;
      } else if (outcome != Z_OK) {
        return std::nullopt;
      }
    }
  }

  std::string deflate_block(std::string_view text) {
    std::string block(deflateBound(&out, static_cast<uLong>(text.size())) + 64, '\0');
    out.next_in = bytes_of(text.data());
    out.avail_in = static_cast<uInt>(text.size());
    out.next_out = bytes_of(block.data());
    out.avail_out = static_cast<uInt>(block.size());
    deflate(&out, Z_SYNC_FLUSH);
    block.erase(block.size() - out.avail_out);
    return block;
  }
};

SpdyConnection::SpdyConnection() : zlib_(std::make_unique<Zlib>()) {}
SpdyConnection::~SpdyConnection() = default;

void SpdyConnection::feed(std::string_view bytes) {
  input_ += bytes;
  while (!ended_ && read_frame()) {
  }
  // Once for many frames: a client may send very small ones.
  input_.erase(0, std::exchange(read_, 0));
}

std::optional<SpdyEvent> SpdyConnection::next() {
  if (events_.empty()) {
    return std::nullopt;
  }
  SpdyEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

std::string SpdyConnection::take_output() {
  return std::exchange(output_, {});
}

bool SpdyConnection::read_frame() {
  const std::string_view input = std::string_view(input_).substr(read_);
  if (input.size() < kHead) {
    return false;
  }
  const std::uint32_t first = spdy_number_at(input, 0, 4);
  const unsigned flags = spdy_number_at(input, 4, 1);
  const std::size_t size = spdy_number_at(input, 5, 3);
  if (size > kFrameLimit) {
    ended_ = true;
    return false;
  }
  if (input.size() < kHead + size) {
    return false;
  }
  const std::string_view payload = input.substr(kHead, size);
  read_ += kHead + size;
  if ((first & kControl) == 0) {
    events_.push_back({.type = SpdyEvent::Type::Data,
                       .stream = first,
                       .headers = {},
                       .data = std::string(payload),
                       .last = (flags & kSpdyFin) != 0});
  } else if ((first >> 16U & 0x7FFFU) != kVersion) {
    ended_ = true;
  } else {
    read_control(first & 0xFFFFU, flags, payload);
  }
  return true;
}

void SpdyConnection::read_control(unsigned type, unsigned flags, std::string_view payload) {
  constexpr std::size_t kSynStreamHead = 10;
  if (type == kSynStream && payload.size() >= kSynStreamHead) {
    auto headers = headers_of(payload.substr(kSynStreamHead));
    if (!headers) {
      ended_ = true;
      return;
    }
    events_.push_back({.type = SpdyEvent::Type::Opened,
                       .stream = spdy_number_at(payload, 0, 4) & kStreamMask,
                       .headers = *std::move(headers),
                       .data = {},
                       .last = (flags & kSpdyFin) != 0});
  } else if (type == kRstStream && payload.size() >= 4) {
    events_.push_back({.type = SpdyEvent::Type::Reset,
                       .stream = spdy_number_at(payload, 0, 4) & kStreamMask,
                       .headers = {},
                       .data = {},
                       .last = true});
  } else if (type == kPing) {
    ended_ = payload.size() != kPingSize;
    if (!ended_) {
      control(kPing, 0, payload);
    }
  } else if (type == kGoAway) {
    ended_ = true;
  }
  // SETTINGS, HEADERS and WINDOW_UPDATE change nothing here.
}

std::optional<SpdyHeaders> SpdyConnection::headers_of(std::string_view block) {
  const auto text = zlib_->inflate_block(block);
  if (!text || text->size() < 4) {
    return std::nullopt;
  }
  std::string_view rest = *text;
  const auto take = [&rest](std::size_t size) {
    const std::string_view part = rest.substr(0, size);
    rest.remove_prefix(part.size());
    return part;
  };
  const auto word = [&]() -> std::optional<std::string> {
    if (rest.size() < 4) {
      return std::nullopt;
    }
    const std::size_t size = spdy_number_at(take(4), 0, 4);
    if (rest.size() < size) {
      return std::nullopt;
    }
    return std::string(take(size));
  };
  SpdyHeaders headers;
  for (std::uint32_t left = spdy_number_at(take(4), 0, 4); left > 0; --left) {
    auto name = word();
    auto value = name ? word() : std::nullopt;
    if (!value) {
      return std::nullopt;
    }
    std::transform(name->begin(), name->end(), name->begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    headers[*name] = *std::move(value);
  }
  return headers;
}

void SpdyConnection::control(unsigned type, unsigned flags, std::string_view payload) {
  append_number(output_, kControl | kVersion << 16U | type, 4);
  append_number(output_, flags, 1);
  append_number(output_, static_cast<std::uint32_t>(payload.size()), 3);
  output_ += payload;
}

void SpdyConnection::accept(std::uint32_t stream) {
  std::string payload;
  append_number(payload, stream, 4);
  std::string none;
  append_number(none, 0, 4);  // no headers
  payload += zlib_->deflate_block(none);
  control(kSynReply, 0, payload);
}

void SpdyConnection::send(std::uint32_t stream, std::string_view bytes, bool last) {
  constexpr std::size_t kLargest = std::size_t{32} << 10;
  do {
    const std::string_view part = bytes.substr(0, kLargest);
    bytes.remove_prefix(part.size());
    append_number(output_, stream & kStreamMask, 4);
    append_number(output_, last && bytes.empty() ? kSpdyFin : 0, 1);
    append_number(output_, static_cast<std::uint32_t>(part.size()), 3);
    output_ += part;
  } while (!bytes.empty());
}

void SpdyConnection::reset(std::uint32_t stream) {
  std::string payload;
  append_number(payload, stream, 4);
  append_number(payload, kCancel, 4);
  control(kRstStream, 0, payload);
}

}  // namespace athanor::apiserver
