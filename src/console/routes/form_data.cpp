// SPDX-License-Identifier: Apache-2.0
#include "console/routes/form_data.hpp"

namespace athanor::console {
namespace {

// The value of `name="..."` in a header.
std::string quoted_value(std::string_view header, std::string_view name) {
  const std::string key = std::string(name) + "=\"";
  std::size_t at = header.find(key);
  while (at != std::string_view::npos && at > 0 && header[at - 1] != ' ' && header[at - 1] != ';') {
    at = header.find(key, at + 1);
  }
  if (at == std::string_view::npos) {
    return {};
  }
  const std::size_t begin = at + key.size();
  return std::string(header.substr(begin, header.find('"', begin) - begin));
}

}  // namespace

FormFields multipart_fields(std::string_view body, std::string_view content_type) {
  FormFields fields;
  const std::size_t at = content_type.find("boundary=");
  if (at == std::string_view::npos) {
    return fields;
  }
  std::string_view boundary = content_type.substr(at + 9);
  boundary = boundary.substr(0, boundary.find(';'));
  if (boundary.starts_with('"') && boundary.ends_with('"') && boundary.size() > 1) {
    boundary = boundary.substr(1, boundary.size() - 2);
  }
  const std::string mark = "--" + std::string(boundary);
  std::size_t begin = body.find(mark);
  while (begin != std::string_view::npos) {
    begin += mark.size();
    const std::size_t end = body.find("\r\n" + mark, begin);
    const std::string_view part =
        body.substr(begin, end == std::string_view::npos ? 0 : end - begin);
    const std::size_t head = part.find("\r\n\r\n");
    if (head != std::string_view::npos) {
      const std::string name = quoted_value(part.substr(0, head), "name");
      if (!name.empty()) {
        fields.insert_or_assign(name, std::string(part.substr(head + 4)));
        if (const std::string file = quoted_value(part.substr(0, head), "filename");
            !file.empty()) {
          fields.insert_or_assign(name + "_name", file);
        }
      }
    }
    begin = end == std::string_view::npos ? end : end + 2;
  }
  return fields;
}

}  // namespace athanor::console
