// SPDX-License-Identifier: Apache-2.0
// Text from outside ends no process: empty, null, huge, deep and invalid text enters every parser
// and library of the table, and every file that includes a third-party header is in the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "doors/doors.hpp"
#include "layering/sources.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::doors {
namespace {

std::string repeated(std::string_view piece, std::size_t size) {
  std::string text;
  text.reserve(size + piece.size());
  while (text.size() < size) {
    text += piece;
  }
  return text;
}

// Returns what the file of "file::test" holds of that test: its first line, empty if there is none.
std::string named_test(std::string_view tested_by) {
  const std::size_t colons = tested_by.find("::");
  if (colons == std::string_view::npos) {
    return {};
  }
  const std::string_view name = tested_by.substr(colons + 2);
  const std::string file(tested_by.substr(0, colons));
  std::string declared = "def " + std::string(name) + "(";
  if (const std::size_t dot = name.find('.'); dot != std::string_view::npos) {
    declared =
        "(" + std::string(name.substr(0, dot)) + ", " + std::string(name.substr(dot + 1)) + ")";
  }
  std::ifstream lines(std::string(test::source_dir()) + "/" + file);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(declared) != std::string::npos) {
      return line;
    }
  }
  return {};
}

class Doors : public testing::TestWithParam<Door> {
 protected:
  void SetUp() override {
    if (GetParam().enter == nullptr) {
      EXPECT_THAT(named_test(GetParam().tested_by),
                  testing::AnyOf(testing::StartsWith("def test_"), testing::StartsWith("TEST")))
          << GetParam().tested_by;
      GTEST_SKIP() << "tested by " << GetParam().tested_by;
    }
  }
  static void enter(std::string_view text) { GetParam().enter(text); }
};

INSTANTIATE_TEST_SUITE_P(All, Doors, testing::ValuesIn(all().begin(), all().end()),
                         [](const auto& door) { return std::string(door.param.name); });

TEST_P(Doors, TakeEmptyText) {
  enter({});
  enter(std::string_view(nullptr, 0));
  enter("");
}

TEST_P(Doors, TakeShortText) {
  for (int byte = 0; byte < 256; ++byte) {
    enter(std::string(1, static_cast<char>(byte)));
    if (GetParam().name == "curl" || GetParam().name == "openssl" || GetParam().name == "sqlite") {
      byte += 20;  // each text costs these a file, a key or a thread
    }
  }
}

TEST_P(Doors, TakeZeroBytesAndInvalidText) {
  enter(std::string_view("a\0b", 3));
  enter(std::string_view("\0\0\0\0", 4));
  enter("\xff\xfe\x80");
  enter("a,dirName:b");
  enter("\xed\xa0\x80 \xf4\x90\x80\x80 \xc0\xaf");
  enter(repeated("\xff", 65'536));
}

TEST_P(Doors, TakeDeepText) {
  for (const char* piece :
       {"[", "{\"a\":", "(", "- ", "((a|", "a:\n ", "? ", "&a [*a,", "a.b(c, "}) {
    enter(repeated(piece, 300'000));
  }
}

TEST_P(Doors, TakeHugeText) {
  for (const char* piece : {"a", "\n", "-----BEGIN CERTIFICATE-----\n"}) {
    enter(repeated(piece, GetParam().huge));
  }
}

TEST_P(Doors, TakeEncryptedPem) {
  for (const std::string kind : {"CERTIFICATE", "CERTIFICATE REQUEST", "PRIVATE KEY",
                                 "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PUBLIC KEY"}) {
    enter(
        "-----BEGIN " + kind +
        "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
        "MTIzNDU2Nzg5MDEyMzQ1Ng==\n-----END " +
        kind + "-----\n");
  }
}

// Headers of libraries that take no text from outside.
constexpr std::string_view kNoDoors[] = {
    "fmt/",         // our formats alone (the compiler checks them)
    "boost/asio",   // sockets and timers
    "prometheus/",  // our metrics' names; values of labels are escaped
};
// The operating system.
constexpr std::string_view kSystem[] = {"sys/",    "netinet/",  "arpa/",    "linux/",   "unistd.h",
                                        "fcntl.h", "poll.h",    "dirent.h", "signal.h", "pthread.h",
                                        "sched.h", "termios.h", "netdb.h",  "spawn.h",  "grp.h",
                                        "pwd.h",   "malloc.h",  "fts.h"};

bool starts_with_one(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return text.starts_with(prefix); });
}

bool opens_a_door(const layering::Include& include) {
  const std::string_view target = include.target;
  return include.angled && target.find_first_of("./") != std::string_view::npos &&
         !starts_with_one(target, kNoDoors) && !starts_with_one(target, kSystem);
}

TEST(DoorsTable, ListsAllIncludersOfThirdPartyHeaders) {
  std::set<std::string> listed;
  for (const Door& door : all()) {
    EXPECT_TRUE((door.enter == nullptr) != door.tested_by.empty()) << door.name;
    for (const std::string_view file : door.files) {
      listed.insert("src/" + std::string(file));
    }
  }
  std::set<std::string> includers;
  for (const layering::Source& source : layering::read_sources("src")) {
    if (std::ranges::any_of(source.includes, opens_a_door)) {
      includers.insert(source.path);
    }
  }
  EXPECT_THAT(includers, testing::ContainerEq(listed)) << "tests/doors/doors.cpp is the table";
}

// What throws for text from outside; std::from_chars does not.
TEST(DoorsTable, LeavesNoThrowingConversion) {
  std::vector<std::string> found;
  for (const layering::Source& source : layering::read_sources("src")) {
    for (const char* word : {"std::stoi", "std::stol", "std::stoll", "std::stoul", "std::stoull",
                             "std::stof", "std::stod", "std::stold"}) {
      if (const std::size_t line = layering::line_of_word(source.code, word); line != 0) {
        found.push_back(source.path + ":" + std::to_string(line) + ": " + word);
      }
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

// A stream's buffer throws where a path names a folder, and an iterator of a folder where that
// becomes unreadable; base/files returns errors.
TEST(DoorsTable, ReadsFilesAndFoldersWithoutThrowing) {
  std::vector<std::string> found;
  for (const layering::Source& source : layering::read_sources("src")) {
    for (const char* word :
         {"istreambuf_iterator", "directory_iterator", "recursive_directory_iterator"}) {
      if (const std::size_t line = layering::line_of_word(source.code, word); line != 0) {
        found.push_back(source.path + ":" + std::to_string(line) + ": " + word);
      }
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

// Without a callback OpenSSL asks for a passphrase on the terminal and the thread waits for it.
TEST(DoorsTable, ReadsPemWithoutAQuestion) {
  std::vector<std::string> found;
  for (const layering::Source& source : layering::read_sources("src")) {
    for (std::size_t at = source.code.find("PEM_read_bio_"); at != std::string::npos;
         at = source.code.find("PEM_read_bio_", at + 1)) {
      const std::string call = source.code.substr(at, source.code.find(';', at) - at);
      if (call.find("refuse_passphrase") == std::string::npos) {
        found.push_back(source.path + ": " + call);
      }
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

}  // namespace
}  // namespace athanor::doors
