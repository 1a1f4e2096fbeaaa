// SPDX-License-Identifier: Apache-2.0
// The list of docs/spec/foundations.md 1: what a request's head may and may not look like.
#include "net/request_reader.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "net/response_writer.hpp"

namespace athanor::net::request_reader_test {
namespace {

constexpr std::size_t kHeaderLimit = 4096;
constexpr std::size_t kBodyLimit = 100;

struct Case {
  std::string name{};
  std::string input{};
  int status = 0;  // 0: accepted
};

// Everything behind "GET / HTTP/1.1" with a host.
std::string with(const std::string& lines) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
}

std::vector<Case> cases() {
  std::string many;
  std::string empty_lines;
  for (int i = 0; i < 128; ++i) {
    many += "x-" + std::to_string(i) + ": 1\r\n";
    empty_lines += "\r\n";
  }
  std::string extensions = with("Transfer-Encoding: chunked\r\n");
  for (int i = 0; i < 40; ++i) {
    extensions += "1;" + std::string(4000, 'x') + "\r\nx\r\n";
  }
  return {
      {"plain", with(""), 0},
      {"leading empty lines", "\r\n\r\n" + with(""), 0},
      {"endless empty lines", empty_lines + with(""), 400},
      {"unknown method", "BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
      {"absolute target", "GET https://a/b?c HTTP/1.1\r\nHost: a\r\n\r\n", 0},
      {"HTTP/1.0 without host", "GET / HTTP/1.0\r\n\r\n", 0},
      {"bytes above ASCII in a value", with("x: \xc3\xa4\r\n"), 0},
      {"empty value", with("x:\r\n"), 0},
      {"length", with("Content-Length: 0\r\n"), 0},
      {"chunked", with("Transfer-Encoding: Chunked\r\n") + "0\r\n\r\n", 0},
      {"chunk extension", with("Transfer-Encoding: chunked\r\n") + "1;a=b\r\nx\r\n0\r\n\r\n", 0},
      {"folded line", with("x: 1\r\n 2\r\n"), 400},
      {"bare line feed", "GET / HTTP/1.1\nHost: a\n\n", 400},
      {"bare line feed in a value", with("x: 1\n2\r\n"), 400},
      {"bare carriage return in a value", with("x: 1\r2\r\n"), 400},
      {"null in a value", with(std::string("x: 1\0\r\n", 7)), 400},
      {"length and coding", with("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"repeated length", with("Content-Length: 1\r\nContent-Length: 1\r\n") + "x", 400},
      {"listed length", with("Content-Length: 1, 1\r\n") + "x", 400},
      {"signed length", with("Content-Length: +1\r\n") + "x", 400},
      {"hexadecimal length", with("Content-Length: 0x1\r\n") + "x", 400},
      {"endless length", with("Content-Length: 99999999999999999999\r\n"), 400},
      {"other coding", with("Transfer-Encoding: gzip\r\n"), 400},
      {"chunked not last", with("Transfer-Encoding: chunked, gzip\r\n"), 400},
      {"coding under another", with("Transfer-Encoding: gzip, chunked\r\n"), 400},
      {"repeated coding", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
       400},
      {"blank before the colon", with("x : 1\r\n"), 400},
      {"no colon", with("x\r\n"), 400},
      {"empty name", with(": 1\r\n"), 400},
      {"strange name", with("a(b): 1\r\n"), 400},
      {"empty host", "GET / HTTP/1.1\r\nHost: \r\n\r\n", 400},
      {"repeated host", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two blanks", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"no version", "GET /\r\nHost: a\r\n\r\n", 400},
      {"no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"odd method", "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"relative target", "GET a/b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"broken escape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"endless chunk size", with("Transfer-Encoding: chunked\r\n") + "fffffffffffffffff\r\n", 400},
      {"chunk size with a sign", with("Transfer-Encoding: chunked\r\n") + "+1\r\nx\r\n", 400},
      {"chunk size with a blank", with("Transfer-Encoding: chunked\r\n") + "1 \r\nx\r\n", 400},
      {"empty chunk size", with("Transfer-Encoding: chunked\r\n") + "\r\n", 400},
      {"chunk longer than said", with("Transfer-Encoding: chunked\r\n") + "1\r\nxx\r\n", 400},
      {"bare line feed behind a chunk", with("Transfer-Encoding: chunked\r\n") + "1\r\nx\n", 400},
      {"endless chunk extension",
       with("Transfer-Encoding: chunked\r\n") + "1;" + std::string(5000, 'x') +
           "\r\nx\r\n0\r\n\r\n",
       400},
      {"little in long chunk extensions", extensions + "0\r\n\r\n", 400},
      {"broken chunk", with("Transfer-Encoding: chunked\r\n") + "zz\r\n", 400},
      {"other version", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"other expectation", with("Expect: miracles\r\n"), 417},
      {"too many fields", with(many), 431},
      {"too large", with("x: " + std::string(kHeaderLimit, 'x') + "\r\n"), 431},
      {"too large without an end", std::string(kHeaderLimit + 1, 'x'), 431},
      {"too large a body", with("Content-Length: 101\r\n"), 413},
      {"too large chunks",
       with("Transfer-Encoding: chunked\r\n") + "60\r\n" + std::string(96, 'x') + "\r\n60\r\n" +
           std::string(96, 'x') + "\r\n",
       413},
  };
}

// Feeds `piece` bytes at a time; the status of the outcome.
int feed(const std::string& bytes, std::size_t piece) {
  RequestReader reader(kHeaderLimit, kBodyLimit);
  std::string input;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    input += bytes.substr(at, piece);
    const auto state = reader.feed(input);
    if (state == RequestReader::State::Failed) {
      return reader.rejection().status;
    }
    if (state == RequestReader::State::Complete) {
      return 0;
    }
  }
  return -1;
}

TEST(RequestReaderTest, AcceptsOrRefusesHoweverTheBytesArrive) {
  for (const Case& request : cases()) {
    for (const std::size_t piece : {std::size_t{100'000}, std::size_t{7}, std::size_t{1}}) {
      EXPECT_EQ(feed(request.input, piece), request.status) << request.name << " by " << piece;
    }
  }
}

TEST(RequestReaderTest, ReadsEverythingOfARequest) {
  RequestReader reader(kHeaderLimit, kBodyLimit);
  std::string input =
      "POST /api/v1/a%2Fb/c%20d?x=1&y=a%20b+c&y=2&bad=%z&flag HTTP/1.1\r\n"
      "Host: a\r\nAccept: x\r\nACCEPT: y\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\nImpersonate-User: root\r\n\r\nGET /next";
  ASSERT_EQ(reader.feed(input), RequestReader::State::Complete);
  const auto request = reader.take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/api/v1/a%2Fb/c d");
  const std::vector<std::pair<std::string, std::string>> query = {
      {"x", "1"}, {"y", "a b c"}, {"y", "2"}, {"flag", ""}};
  EXPECT_EQ(request.query, query);
  EXPECT_EQ(request.header_list("accept"), "x, y");
  EXPECT_EQ(request.header_values("accept"), (std::vector<std::string_view>{"x", "y"}));
  EXPECT_EQ(std::get<std::string>(request.body), "abcde");
  EXPECT_FALSE(request.headers.contains("impersonate-user")) << "a trailer is no header";
  EXPECT_TRUE(reader.keep_alive());
  EXPECT_EQ(input, "GET /next");
  EXPECT_EQ(reader.state(), RequestReader::State::Idle);
  EXPECT_EQ(reader.feed(input), RequestReader::State::Head);
}

TEST(RequestReaderTest, ReportsExpectedBodySize) {
  RequestReader reader(kHeaderLimit, kBodyLimit);
  std::string input = "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\nabc";
  ASSERT_EQ(reader.feed(input), RequestReader::State::Body);
  EXPECT_EQ(reader.body_size(), 3U);
  EXPECT_EQ(reader.expected_body(), 40U);
  EXPECT_EQ(reader.head().path, "/a");
  RequestReader chunked(kHeaderLimit, kBodyLimit);
  input = "PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc";
  ASSERT_EQ(chunked.feed(input), RequestReader::State::Body);
  EXPECT_EQ(chunked.body_size(), 3U);
  EXPECT_EQ(chunked.expected_body(), kBodyLimit);
}

TEST(RequestReaderTest, ReportsWaitingClientOnce) {
  RequestReader reader(kHeaderLimit, kBodyLimit);
  std::string input =
      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n";
  EXPECT_EQ(reader.feed(input), RequestReader::State::Body);
  EXPECT_TRUE(reader.take_expectation());
  EXPECT_FALSE(reader.take_expectation());
  input = "ab";
  EXPECT_EQ(reader.feed(input), RequestReader::State::Complete);
}

TEST(ResponseWriterTest, FramesAndCleansHeads) {
  net::Response response;
  response.status = 201;
  response.headers.emplace_back("Warning", "299 - \"a\r\nSet-Cookie: x\"");
  EXPECT_EQ(response_head(response, {.length = 3}, "D"),
            "HTTP/1.1 201 Created\r\nWarning: 299 - \"a  Set-Cookie: x\"\r\n"
            "Content-Type: application/json\r\nContent-Length: 3\r\nDate: D\r\n\r\n");
  response = {};
  response.status = 204;
  EXPECT_EQ(response_head(response, {.length = 0, .keep_alive = false}, "D"),
            "HTTP/1.1 204 No Content\r\nDate: D\r\nConnection: close\r\n\r\n");
}

TEST(ResponseWriterTest, PrintsDates) {
  EXPECT_EQ(http_date(*parse_time("1994-11-06T08:49:37.9Z")), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(*parse_time("2026-02-28T23:00:09Z")), "Sat, 28 Feb 2026 23:00:09 GMT");
}

}  // namespace
}  // namespace athanor::net::request_reader_test
