// SPDX-License-Identifier: Apache-2.0
#include "console/pages/report_page.hpp"

#include <fmt/format.h>

#include <optional>

#include "kube/text/json.hpp"

namespace athanor::console {

Result<std::string> report_page(const PageFiles& files, const Value& report) {
  const auto script = files("report/report.js");
  const auto style = files("report/report.css");
  const auto licences = files("assets/licences.txt");
  if (!script || !style || !licences) {
    return Error::internal("the charts of the report are not part of this program");
  }
  // json::print() escapes what ends the element that it is in, or starts another.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n"
      "<title>athanor simulate: {}</title>\n<!--\n{}\n-->\n<style>{}</style>\n</head>\n<body>\n"
      "<div id=\"app\"></div>\n<noscript>The charts need JavaScript; `athanor simulate` prints the "
      "same figures as text.</noscript>\n"
      "<script type=\"application/json\" id=\"report\">{}</script>\n<script>{}</script>\n"
      "</body>\n</html>\n",
      html_text(report["trace"].as_string()), licences->bytes(), style->bytes(),
      json::print(report), script->bytes());
}

}  // namespace athanor::console
