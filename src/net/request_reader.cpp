// SPDX-License-Identifier: Apache-2.0
// Heads by request_head.hpp, bodies by their framing, limits on both.
#include "net/request_reader.hpp"

#include <algorithm>
#include <utility>

namespace athanor::net {
namespace {

constexpr std::size_t kEmptyLines = 64;  // bytes of empty lines in front of a request

}  // namespace

RequestReader::State RequestReader::feed(std::string& input) {
  if (state_ == State::Idle) {
    skip_empty_lines(input);
  }
  if (state_ == State::Head) {
    read_head(input);
  }
  if (state_ == State::Body) {
    read_body(input);
  }
  return state_;
}

// Empty lines in front of a request are allowed (RFC 9112, 2.2), but not without limit.
void RequestReader::skip_empty_lines(std::string& input) {
  std::size_t size = 0;
  while (std::string_view(input).substr(size).starts_with("\r\n")) {
    size += 2;
  }
  input.erase(0, size);
  empty_ += size;
  if (empty_ > kEmptyLines) {
    fail({.status = 400, .message = "too many empty lines"});
  } else if (!input.empty() && input != "\r") {
    empty_ = 0;
    state_ = State::Head;
  }
}

void RequestReader::read_head(std::string& input) {
  const HeadEnd end = find_head_end(input, searched_);
  if (end.bare_line_feed) {
    return fail({.status = 400, .message = "a line does not end in CR LF"});
  }
  if (end.size.value_or(input.size()) > header_limit_) {
    return fail({.status = 431, .message = "the header block is too large"});
  }
  if (!end.size) {
    return;
  }
  auto head = parse_head(std::string_view(input).substr(0, *end.size));
  if (!head.ok()) {
    return fail(std::move(head).error());
  }
  input.erase(0, *end.size);
  searched_ = 0;
  begin_request(*std::move(head));
}

void RequestReader::begin_request(RequestHead head) {
  const std::string_view target = head.target;
  const std::size_t question = target.find('?');
  auto path = decode_path(target.substr(0, question));
  if (!path) {
    return fail({.status = 400, .message = "malformed request target"});
  }
  const auto [expected, last] = head.headers.equal_range("expect");
  expects_continue_ = expected != last && !head.http_1_0;
  for (auto it = expected; it != last && expects_continue_; ++it) {
    if (it->second != "100-continue" && it->second != "100-Continue") {
      return fail({.status = 417, .message = "unknown expectation"});
    }
  }
  if (head.content_length > body_limit_) {
    return fail_too_large();
  }
  request_ = {};
  request_.path = *std::move(path);
  if (question != std::string_view::npos) {
    request_.query = decode_query(target.substr(question + 1));
  }
  request_.method = std::move(head.method);
  request_.headers = std::move(head.headers);
  http_1_0_ = head.http_1_0;
  keep_alive_ = head.keep_alive;
  is_head_ = request_.method == "HEAD";
  body_left_ = head.content_length;
  if (head.chunked) {
    chunked_.emplace(body_limit_);
  }
  state_ = State::Body;
}

void RequestReader::read_body(std::string& input) {
  if (chunked_) {
    return read_chunked(input);
  }
  const std::size_t size = std::min(body_left_, input.size());
  if (body_.empty() && size == input.size()) {
    body_ = std::exchange(input, {});
  } else {
    body_.append(input, 0, size);
    input.erase(0, size);
  }
  body_left_ -= size;
  if (body_left_ == 0) {
    state_ = State::Complete;
  }
}

void RequestReader::read_chunked(std::string& input) {
  std::size_t taken = 0;
  const auto state = chunked_->read(input, taken, body_);
  input.erase(0, taken);
  switch (state) {
    case ChunkedReader::State::More:
      return;
    case ChunkedReader::State::Done:
      state_ = State::Complete;
      return;
    case ChunkedReader::State::Malformed:
      return fail({.status = 400, .message = "malformed chunked encoding"});
    case ChunkedReader::State::TooLarge:
      return fail_too_large();
  }
}

bool RequestReader::take_expectation() {
  return state_ == State::Body && std::exchange(expects_continue_, false);
}

net::Request RequestReader::take() {
  request_.body = std::exchange(body_, {});
  chunked_.reset();
  state_ = State::Idle;
  return std::exchange(request_, {});
}

void RequestReader::fail(Rejection rejection) {
  rejection_ = std::move(rejection);
  is_head_ = false;  // of an earlier request; this one gets its explanation
  state_ = State::Failed;
}

void RequestReader::fail_too_large() {
  fail({.status = 413,
        .message = "Request entity too large: limit is " + std::to_string(body_limit_)});
}

}  // namespace athanor::net
