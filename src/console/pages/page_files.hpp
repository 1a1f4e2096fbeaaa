// SPDX-License-Identifier: Apache-2.0
// The browser's side of the console: files that are part of the program, or of a folder
// (`--web DIR`, for development).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace athanor::console {

// A file of the pages.
struct PageFile {
  std::string content_type{};
  std::string_view body{};    // of the program, or of `owned`
  std::string_view packed{};  // as gzip; empty: not available
  std::string owned{};
  [[nodiscard]] std::string_view bytes() const { return owned.empty() ? body : owned; }
};
// Returns a file by its path ("index.html", "assets/x.js"); nullopt: there is none.
using PageFiles = std::function<std::optional<PageFile>(std::string_view path)>;

// Returns the files that are part of the program.
PageFiles embedded_pages();
// Returns those of a folder, read at each request.
PageFiles folder_pages(std::string folder);

// Returns the media type by a file's name.
std::string media_type(std::string_view path);

// Data that a page gets from the server.
struct PageHead {
  std::string base{};     // "/console/"
  std::string message{};  // of a refused form; empty: none
  std::string form{};     // its fields as JSON
};
// Returns index.html with a base element and the message of a form; names are escaped.
std::string page_with_head(std::string_view index, const PageHead& head);
// Returns a text with the five characters escaped that HTML reserves.
std::string html_text(std::string_view text);

}  // namespace athanor::console
