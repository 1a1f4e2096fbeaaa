// SPDX-License-Identifier: Apache-2.0
#include "console/pages/page_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/files/embedded_file.hpp"
#include "base/files/text_file.hpp"

namespace athanor::data {
std::span<const EmbeddedFile> console_pages();
}  // namespace athanor::data

namespace athanor::console {

std::string media_type(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".json", "application/json"},
      {".png", "image/png"},
      {".ico", "image/x-icon"},
      {".woff2", "font/woff2"},
      {".txt", "text/plain; charset=utf-8"},
      {".webmanifest", "application/manifest+json"}};
  for (const auto& [ending, type] : kTypes) {
    if (path.ends_with(ending)) {
      return std::string(type);
    }
  }
  return "application/octet-stream";
}

PageFiles embedded_pages() {
  return [](std::string_view path) -> std::optional<PageFile> {
    const auto files = data::console_pages();
    const auto found = std::ranges::find(files, path, &EmbeddedFile::path);
    if (found == files.end()) {
      return std::nullopt;
    }
    return PageFile{.content_type = media_type(path), .body = found->body, .packed = found->packed};
  };
}

PageFiles folder_pages(std::string folder) {
  return [folder = std::move(folder)](std::string_view path) -> std::optional<PageFile> {
    const bool plain = path.find("..") == std::string_view::npos && !path.starts_with('/') &&
                       path.find('\0') == std::string_view::npos;
    auto text = plain ? read_text_file(fmt::format("{}/{}", folder, path))
                      : Result<std::string>(Error::not_found("no such page"));
    if (!text.ok()) {
      return std::nullopt;
    }
    return PageFile{.content_type = media_type(path), .owned = *std::move(text)};
  };
}

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string page_with_head(std::string_view index, const PageHead& head) {
  std::string parts = fmt::format("<base href=\"{}\">", html_text(head.base));
  if (!head.message.empty()) {
    parts += fmt::format("<meta name=\"athanor-message\" content=\"{}\">", html_text(head.message));
    parts += fmt::format("<meta name=\"athanor-form\" content=\"{}\">", html_text(head.form));
  }
  std::string page(index);
  const std::size_t at = page.find("<head>");
  page.insert(at == std::string::npos ? 0 : at + 6, parts);
  return page;
}

}  // namespace athanor::console
