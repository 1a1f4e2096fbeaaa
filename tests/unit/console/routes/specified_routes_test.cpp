// SPDX-License-Identifier: Apache-2.0
// The table of routes has each route that the specification lists (docs/spec/dashboard.md A3, B5).
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "console/routes/route_table.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::console::specified_routes_test {
namespace {

// Text between backticks in the first cell of a row.
std::vector<std::string> code_of(const std::string& row) {
  std::vector<std::string> all;
  std::size_t end = 1;
  while (end < row.size() && (row[end] != '|' || row[end - 1] == '\\')) {
    ++end;
  }
  const std::string cell = row.substr(0, end);
  for (std::size_t at = cell.find('`'); at != std::string::npos;) {
    const std::size_t close = cell.find('`', at + 1);
    if (close == std::string::npos) {
      break;
    }
    all.push_back(cell.substr(at + 1, close - at - 1));
    at = cell.find('`', close + 1);
  }
  return all;
}

// Names of parts do not matter: "/jobs/{ns}" -> "/jobs/{}".
std::string nameless(std::string_view path) {
  std::string out;
  bool inside = false;
  for (const char c : path.substr(0, path.find('?'))) {
    inside = inside && c != '}';
    if (!inside) {
      out += c;
    }
    inside = inside || c == '{';
  }
  return out;
}

// "/x/{stop\|rerun}" -> "/x/stop", "/x/rerun".
std::vector<std::string> alternatives_of(const std::string& path) {
  const std::size_t mark = path.find("\\|");
  if (mark == std::string::npos) {
    return {nameless(path)};
  }
  const std::size_t open = path.rfind('{', mark);
  const std::size_t close = path.find('}', mark);
  std::vector<std::string> all;
  std::string word;
  for (std::size_t i = open + 1; i <= close; ++i) {
    if (path[i] == '|' || path[i] == '}') {
      all.push_back(nameless(path.substr(0, open) + word + path.substr(close + 1)));
      word.clear();
    } else if (path[i] != '\\') {
      word += path[i];
    }
  }
  return all;
}

// "GET /api/v1/jobs/{}" of each route of a section.
std::set<std::string> routes_of_section(const std::string& title, const std::string& base) {
  std::ifstream file(std::string(test::source_dir()) + "/docs/spec/dashboard.md");
  EXPECT_TRUE(file.good());
  std::set<std::string> routes;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) {
      inside = line.starts_with("## " + title);
    }
    if (!inside || !line.starts_with("| `")) {
      continue;
    }
    std::string method;
    std::string path;
    for (const std::string& code : code_of(line)) {
      if (code.starts_with('{')) {
        continue;  // a body
      }
      const std::size_t blank = code.find(' ');
      if (code.starts_with('/')) {  // beside the one before it
        path = path.substr(0, path.rfind('/')) + code;
      } else {
        method = code.substr(0, blank);
        path = blank == std::string::npos ? path : code.substr(blank + 1);
      }
      for (const std::string& one : alternatives_of(path)) {
        routes.insert(method + " " + base + one);
      }
    }
  }
  return routes;
}

std::set<std::string> routes_of_table() {
  std::set<std::string> routes;
  for (const Route& route : all_routes()) {
    routes.insert(std::string(route.method) + " " + nameless(route.path));
  }
  return routes;
}

TEST(SpecifiedRoutes, AreInTheTable) {
  const std::set<std::string> specified = routes_of_section("B5.", "/api/v1");
  EXPECT_GT(specified.size(), 40U) << "the list is read";
  EXPECT_TRUE(specified.contains("POST /api/v1/jobs/{}/{}/terminate"));
  EXPECT_TRUE(specified.contains("GET /api/v1/jobs/{}/{}/tree"));
  EXPECT_TRUE(specified.contains("DELETE /api/v1/schedules/{}"));
  const std::set<std::string> known = routes_of_table();
  for (const std::string& route : specified) {
    EXPECT_TRUE(known.contains(route)) << route;
  }
}

TEST(SpecifiedRoutes, KeepThoseOfFournosUi) {
  const std::set<std::string> known = routes_of_table();
  std::size_t count = 0;
  for (const std::string& route : routes_of_section("A3.", "")) {
    if (route.find(" /api/") != std::string::npos || route.starts_with("POST ")) {
      ++count;
      EXPECT_TRUE(known.contains(route)) << route;
    }
  }
  EXPECT_GT(count, 10U) << "the list is read";
}

}  // namespace
}  // namespace athanor::console::specified_routes_test
