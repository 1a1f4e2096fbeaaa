// SPDX-License-Identifier: Apache-2.0
// Floors: the order of the folders in each room. docs/architecture.md ("Floors") lists them from
// bottom to top; an #include runs down or stays on its floor.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layering/sources.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::layering::floors_test {
namespace {

// Folders below src/ whose subfolders are libraries: CMake orders these (layering_test.cpp).
constexpr std::array<std::string_view, 3> kLibraries{"", "embedded", "systems"};

using Floors = std::vector<std::string>;  // from bottom to top; ".": the room's own files
using Rooms = std::map<std::string, Floors, std::less<>>;

std::vector<std::string> quoted_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t open = text.find('`'); open != std::string_view::npos;) {
    const std::size_t close = text.find('`', open + 1);
    if (close == std::string_view::npos) {
      break;
    }
    words.emplace_back(text.substr(open + 1, close - open - 1));
    open = text.find('`', close + 1);
  }
  return words;
}

// Rows are "| `room` | `lowest` `next` ... `highest` |" in the section "## Floors".
Rooms parse_rooms(std::string_view page) {
  constexpr std::string_view kHeading = "\n## Floors\n";
  const std::size_t start = page.find(kHeading);
  if (start == std::string_view::npos) {
    return {};
  }
  page.remove_prefix(start + kHeading.size());
  page = page.substr(0, page.find("\n## "));
  Rooms rooms;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string_view row = page.substr(at, end - at);
    std::vector<std::string> words = quoted_words(row);
    if (row.starts_with("| `") && !words.empty()) {
      const std::string room = words.front();
      words.erase(words.begin());
      rooms.emplace(room, std::move(words));
    }
    at = end + 1;
  }
  return rooms;
}

const Rooms& documented_rooms() {
  static const Rooms rooms = [] {
    std::ifstream stream(std::string(athanor::test::source_dir()) + "/docs/architecture.md");
    return parse_rooms(std::string(std::istreambuf_iterator<char>(stream), {}));
  }();
  return rooms;
}

// Returns the floor of a path below src/; nullopt: it is not in the room.
std::optional<std::string_view> floor_of(std::string_view room, std::string_view path) {
  if (!path.starts_with(room) || path.size() <= room.size() || path[room.size()] != '/') {
    return std::nullopt;
  }
  path.remove_prefix(room.size() + 1);
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view(".") : path.substr(0, slash);
}

std::string_view below_src(const Source& source) {
  return std::string_view(source.path).substr(std::string_view("src/").size());
}

struct Upward {
  std::string path{};
  std::string target{};
  std::size_t line = 0;
};

std::vector<Upward> upward_includes(const std::vector<Source>& sources, const Rooms& rooms) {
  std::vector<Upward> found;
  for (const auto& [room, floors] : rooms) {
    const auto height = [&floors](std::string_view floor) {
      return std::find(floors.begin(), floors.end(), floor) - floors.begin();
    };
    for (const Source& source : sources) {
      const auto own = floor_of(room, below_src(source));
      for (const Include& include : source.includes) {
        const auto other = floor_of(room, include.target);
        if (own && other && !include.angled && height(*other) > height(*own)) {
          found.push_back({std::string(below_src(source)), include.target, include.line});
        }
      }
    }
  }
  return found;
}

// The rooms of the tree with their floors in the order of the alphabet.
Rooms rooms_of(const std::vector<Source>& sources) {
  std::map<std::string, std::set<std::string>> found;
  for (const Source& source : sources) {
    const std::string_view path = below_src(source);
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/', slash + 1)) {
      const std::string_view room = path.substr(0, slash);
      found[std::string(room)].emplace(floor_of(room, path).value_or("."));
    }
  }
  Rooms rooms;
  for (const auto& [room, floors] : found) {
    const bool has_folders = floors.size() > 1 || !floors.contains(".");
    if (has_folders && std::find(kLibraries.begin(), kLibraries.end(), room) == kLibraries.end()) {
      rooms.emplace(room, Floors(floors.begin(), floors.end()));
    }
  }
  return rooms;
}

TEST(Floors, IncludesRunDown) {
  std::string wrong;
  for (const Upward& include : upward_includes(read_sources("src"), documented_rooms())) {
    wrong += "\n  src/" + include.path + ":" + std::to_string(include.line) +
             " includes a higher floor: " + include.target;
  }
  EXPECT_TRUE(wrong.empty()) << wrong;
}

TEST(Floors, AreListedForEveryRoom) {
  const Rooms tree = rooms_of(read_sources("src"));
  EXPECT_GT(tree.size(), 20U) << "the sources were not found";
  Rooms listed = documented_rooms();
  for (auto& [room, floors] : listed) {
    std::sort(floors.begin(), floors.end());
  }
  for (const auto& [room, floors] : tree) {
    EXPECT_TRUE(listed.contains(room)) << room << " is not in docs/architecture.md, Floors";
    EXPECT_EQ(listed[room], floors) << room;
  }
  for (const auto& [room, floors] : listed) {
    EXPECT_TRUE(tree.contains(room)) << room << " has no folders";
  }
}

TEST(Floors, FindIncludeThatRunsUp) {
  const Rooms rooms = parse_rooms(
      "# Page\n\n## Floors\n| Room | Floors |\n|---|---|\n"
      "| `a/b` | `model` `work` `.` |\n\n## Next\n| `c` | `x` `y` |\n");
  ASSERT_EQ(rooms.size(), 1U);
  Source low{.path = "src/a/b/model/x.hpp"};
  low.includes = {{"a/b/work/deep/y.hpp", false, 3},
                  {"a/b/model/z.hpp", false, 4},
                  {"a/bc/work/y.hpp", false, 5},
                  {"a/b/system.hpp", false, 6}};
  Source high{.path = "src/a/b/system.cpp"};
  high.includes = {{"a/b/work/deep/y.hpp", false, 3}, {"base/time.hpp", false, 4}};
  const std::vector<Upward> found = upward_includes({low, high}, rooms);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].line, 3U);
  EXPECT_EQ(found[1].line, 6U);
  EXPECT_EQ(rooms_of({low, high}).at("a/b"), (Floors{".", "model"}));
}

}  // namespace
}  // namespace athanor::layering::floors_test
