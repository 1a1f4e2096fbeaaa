// SPDX-License-Identifier: Apache-2.0
// CMake compiles up to twelve source files of a folder together. There an anonymous namespace
// belongs to all of them: a name that one file keeps to itself can take the place of a name that
// another file has from a header, without an error, and only in some builds. So a name in an
// anonymous namespace is unique in its folder, and is no name that another file of the folder uses
// from a header.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layering/declarations.hpp"
#include "layering/sources.hpp"

namespace athanor::layering::unity_test {
namespace {

struct Exception {
  std::string_view folder;
  std::string_view name;
  std::string_view reason;
};
// The whole list; an entry that nothing needs any more fails the test.
const std::vector<Exception> kUnityExceptions{};

struct File {
  const Source* source = nullptr;
  std::vector<Declaration> declarations{};
  std::set<Use> uses{};
  std::set<std::string> spaces{};  // the namespaces of its declarations
};

using Files = std::map<std::string, File, std::less<>>;
using Folders = std::map<std::string, std::vector<const File*>>;

Files files_of(const std::vector<Source>& sources) {
  Files files;
  for (const Source& source : sources) {
    File file{.source = &source, .declarations = declarations_of(source.code)};
    for (const Declaration& declaration : file.declarations) {
      file.spaces.insert(declaration.space);
    }
    if (!source.is_header()) {
      file.uses = unqualified_uses_of(source.code);
    }
    files.emplace(source.path, std::move(file));
  }
  return files;
}

Folders folders_of(const Files& files) {
  Folders folders;
  for (const auto& [path, file] : files) {
    if (!file.source->is_header()) {
      folders[path.substr(0, path.rfind('/'))].push_back(&file);
    }
  }
  return folders;
}

// Returns true if a name of the namespace `outer` is found by unqualified lookup in `file`.
bool sees(const File& file, std::string_view outer) {
  return std::any_of(file.spaces.begin(), file.spaces.end(), [&](const std::string& space) {
    return space == outer || (space.starts_with(outer) && space.size() > outer.size() + 1 &&
                              std::string_view(space).substr(outer.size()).starts_with("::"));
  });
}

const File* included_file(const Files& files, const Include& include) {
  const auto it = files.find("src/" + include.target);
  return include.angled || it == files.end() ? nullptr : &it->second;
}

void add_headers(const Files& files, const File& file, std::set<const File*>& to) {
  for (const Include& include : file.source->includes) {
    const File* header = included_file(files, include);
    if (header != nullptr && to.insert(header).second) {
      add_headers(files, *header, to);
    }
  }
}

// The names that headers of ours give to `file`, with the header.
std::map<std::string_view, const File*> header_names(const Files& files, const File& file) {
  std::set<const File*> headers;
  add_headers(files, file, headers);
  std::map<std::string_view, const File*> names;
  for (const File* header : headers) {
    for (const Declaration& declaration : header->declarations) {
      names.emplace(declaration.name, header);
    }
  }
  return names;
}

bool uses(const File& file, const Declaration& declaration) {
  return file.uses.contains({declaration.name, true}) ||
         (declaration.kind != NameKind::Function && file.uses.contains({declaration.name, false}));
}

// Returns true if only its file may use `declaration`: a constant that a header declares is common.
bool is_private(const Declaration& declaration,
                const std::map<std::string_view, const File*>& headers) {
  return declaration.anonymous || (declaration.internal && !headers.contains(declaration.name));
}

// Two aliases of one name are the same type, or the compiler refuses them.
bool is_defined_twice(const Declaration& one, const Declaration& other) {
  return one.name == other.name && one.space == other.space &&
         (one.kind != NameKind::Alias || other.kind != NameKind::Alias);
}

struct Clash {
  std::string folder{};
  std::string name{};
  std::string text{};
};

// The names that `owner` keeps to itself and that clash with what `user` declares or means.
void add_clashes(const File& owner, const File& user, const Files& files,
                 std::vector<Clash>& clashes) {
  const auto owned = header_names(files, owner);
  const auto headers = header_names(files, user);
  const std::string& path = owner.source->path;
  const std::string folder = path.substr(0, path.rfind('/'));
  for (const Declaration& declaration : owner.declarations) {
    if (!is_private(declaration, owned) || !sees(user, declaration.space)) {
      continue;
    }
    const std::string place =
        "\n  " + declaration.name + " of " + path + ":" + std::to_string(declaration.line);
    const auto header = headers.find(declaration.name);
    if (header != headers.end() && uses(user, declaration)) {
      clashes.push_back({folder, declaration.name,
                         place + " captures the one of " + header->second->source->path + " in " +
                             user.source->path});
    }
    for (const Declaration& other : user.declarations) {
      if (path < user.source->path && is_private(other, headers) &&
          is_defined_twice(declaration, other)) {
        clashes.push_back(
            {folder, declaration.name, place + " is defined in " + user.source->path});
      }
    }
  }
}

std::vector<Clash> clashes_in(const Files& files) {
  std::vector<Clash> clashes;
  for (const auto& [folder, members] : folders_of(files)) {
    for (const File* owner : members) {
      for (const File* user : members) {
        if (owner != user) {
          add_clashes(*owner, *user, files, clashes);
        }
      }
    }
  }
  return clashes;
}

std::vector<Source> sources_of_libraries() {
  std::vector<Source> sources = read_sources("src");
  for (Source& source : read_sources("tests/unit")) {
    sources.push_back(std::move(source));
  }
  return sources;
}

TEST(Unity, KeepsInternalNamesApart) {
  const std::vector<Source> sources = sources_of_libraries();
  ASSERT_GT(sources.size(), 1000U) << "the sources were not found";
  std::set<const Exception*> needed;
  std::set<std::string> wrong;
  for (const Clash& clash : clashes_in(files_of(sources))) {
    const auto exception = std::find_if(
        kUnityExceptions.begin(), kUnityExceptions.end(),
        [&](const Exception& e) { return e.folder == clash.folder && e.name == clash.name; });
    if (exception == kUnityExceptions.end()) {
      wrong.insert(clash.text);
    } else {
      needed.insert(&*exception);
    }
  }
  std::string text;
  for (const std::string& line : wrong) {
    text += line;
  }
  EXPECT_TRUE(wrong.empty()) << wrong.size() << text;
  EXPECT_EQ(needed.size(), kUnityExceptions.size()) << "an exception is not needed any more";
}

Source made(std::string path, std::string text, std::vector<std::string> included = {}) {
  Source source{.path = std::move(path), .text = std::move(text)};
  source.code = blank_comments_and_literals(source.text);
  for (std::string& target : included) {
    source.includes.push_back({std::move(target), false, 1});
  }
  return source;
}

TEST(Unity, FindsCapturedHeaderName) {
  const std::vector<Source> sources{
      made("src/x/a.cpp", "namespace athanor::x { namespace { int size_of(int) { return 1; } } }"),
      made("src/x/b.cpp", "namespace athanor::x { int f() { return size_of(2); } }", {"y/y.hpp"}),
      made("src/x/c.cpp", "namespace athanor::x { int g() { return y::size_of(2); } }",
           {"y/y.hpp"}),
      made("src/x/e.cpp", "namespace athanor::x { namespace { struct Row {}; } }"),
      made("src/x/f.cpp", "namespace athanor::x { const Row kRows[] = {{}}; }", {"y/y.hpp"}),
      made("src/x/d.cpp", "namespace athanor::z { int g() { return size_of(2); } }", {"y/y.hpp"}),
      made("src/y/y.hpp", "namespace athanor { long size_of(long n); struct Row {}; }")};
  const std::vector<Clash> clashes = clashes_in(files_of(sources));
  ASSERT_EQ(clashes.size(), 2U);
  EXPECT_NE(clashes[0].text.find("src/x/b.cpp"), std::string::npos) << clashes[0].text;
  EXPECT_NE(clashes[1].text.find("src/x/f.cpp"), std::string::npos) << clashes[1].text;
}

TEST(Unity, FindsNameOfTwoFiles) {
  const std::vector<Source> sources{
      made("src/x/a.cpp", "namespace athanor::x { namespace { constexpr int kMost = 1; } }"),
      made("src/x/b.cpp", "namespace athanor::x { constexpr int kMost{2}; }"),
      made("src/x/c.cpp", "namespace athanor::x::c { namespace { const int kMost = 3; } }"),
      made("src/z/d.cpp", "namespace athanor::x { namespace { const int kMost = 4; } }")};
  const std::vector<Clash> clashes = clashes_in(files_of(sources));
  ASSERT_EQ(clashes.size(), 1U);
  EXPECT_EQ(clashes.front().name, "kMost");
}

TEST(Declarations, AreFoundAtNamespaceScope) {
  const std::string_view code =
      "#define IGNORED(x) x\n"
      "namespace athanor::x {\n"
      "namespace {\n"
      "using Names = std::set<int>;\n"
      "struct Row { int column(); };\n"
      "template <typename T = int> std::map<T, Row> rows_of(const T& t) { int local = 1; }\n"
      "constexpr std::array<int, 2> kSizes{1, 2};\n"
      "const auto kMade = [] { return 1; }();\n"
      "}\n"
      "Row::Row() : a_{1}, b_(2) { f(); }\n"
      "int Row::column() { return 1; }\n"
      "bool operator==(const Row&, const Row&) { return true; }\n"
      "int visible(int) noexcept { return 1; }\n"
      "}\n";
  std::string names;
  for (const Declaration& declaration : declarations_of(code)) {
    names += declaration.name + (declaration.internal ? "- " : "+ ");
    EXPECT_EQ(declaration.space, "athanor::x");
  }
  EXPECT_EQ(names, "Names- Row- rows_of- kSizes- kMade- visible+ ");
}

TEST(Declarations, SeparateUsesFromDeclarators) {
  const std::set<Use> uses = unqualified_uses_of(
      "const Row kRow; int main() { Row row(1); return count(row) + x::size(row.size()); }");
  EXPECT_TRUE(uses.contains({"count", true}));
  EXPECT_TRUE(uses.contains({"Row", false}));
  EXPECT_FALSE(uses.contains({"size", true}));
  EXPECT_FALSE(uses.contains({"row", true}));
}

}  // namespace
}  // namespace athanor::layering::unity_test
