//===- JITCacheTrustTest.cpp - Whose code a cache on disk has -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/JITCacheTesting.h"

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

namespace {

/// Somebody else, whoever runs this.
constexpr uid_t otherUser = 12345;

unsigned modeOf(const fs::path &path) {
  return unsigned(fs::status(path).permissions());
}

std::string errorOfDirectory(const fs::path &directory) {
  Expected<Engine> engine =
      Engine::create({.cacheDirectory = directory.string()});
  return engine ? "" : engine.error().message;
}

/// A cache with one entry, `file`, which is good.
class JITCacheTrust : public JITCache {
protected:
  void SetUp() override {
    JITCache::SetUp();
    EXPECT_EQ(compileAndRun(createEngine(directory)), Source::compiler);
    file = files().at(0);
  }

  /// The entry is neither used nor in the way of a good one.
  void expectReplaced() const {
    EXPECT_EQ(compileAndRun(createEngine(directory)), Source::compiler);
    EXPECT_EQ(compileAndRun(createEngine(directory)), Source::diskCache);
  }

  fs::path file;
};

//===----------------------------------------------------------------------===//
// Directories
//===----------------------------------------------------------------------===//

TEST_F(JITCacheTrust, IsOnlyForItsUser) {
  mode_t before = umask(0);
  fs::path cache = directory / "parent/cache";
  EXPECT_EQ(compileAndRun(createEngine(cache)), Source::compiler);
  umask(before);
  EXPECT_EQ(modeOf(directory / "parent"), 0700u);
  EXPECT_EQ(modeOf(cache), 0700u);
  for (const auto &entry : fs::directory_iterator(cache))
    EXPECT_EQ(modeOf(entry.path()), 0600u);
  EXPECT_EQ(compileAndRun(createEngine(cache)), Source::diskCache);
}

TEST_F(JITCacheTrust, DirectoryThatOthersMayWrite) {
  for (unsigned mode : {0777u, 01777u, 0770u, 0702u, 02775u}) {
    fs::permissions(directory, fs::perms(mode));
    char octal[8];
    std::snprintf(octal, sizeof(octal), "0%o", mode);
    EXPECT_EQ(errorOfDirectory(directory),
              "cannot use cache directory '" + directory.string() +
                  "': expected a directory that only its user may write, got "
                  "mode " +
                  octal);
  }
  for (unsigned mode : {0755u, 0750u, 0700u}) {
    fs::permissions(directory, fs::perms(mode));
    EXPECT_EQ(errorOfDirectory(directory), "");
  }
}

TEST_F(JITCacheTrust, DirectoryOfAnotherUser) {
  uid_t user = geteuid();
  fs::path other = user == 0 ? directory : fs::path("/");
  uid_t owner = user == 0 ? otherUser : 0;
  if (user == 0)
    ASSERT_EQ(chown(directory.c_str(), owner, gid_t(-1)), 0);
  EXPECT_EQ(errorOfDirectory(other),
            "cannot use cache directory '" + other.string() +
                "': expected a directory of this process's user " +
                std::to_string(user) + ", got one of user " +
                std::to_string(owner));
}

TEST_F(JITCacheTrust, LinkToADirectory) {
  fs::path link = directory / "link";
  fs::create_directory(directory / "cache");
  fs::permissions(directory / "cache", fs::perms(0700));
  fs::create_directory_symlink(directory / "cache", link);
  EXPECT_EQ(compileAndRun(createEngine(link)), Source::compiler);
  EXPECT_EQ(compileAndRun(createEngine(link)), Source::diskCache);
  fs::permissions(directory / "cache", fs::perms(0777));
  EXPECT_NE(errorOfDirectory(link), "");
}

TEST_F(JITCacheTrust, DirectoryThatIsExchanged) {
  fs::path cache = directory / "cache", moved = directory / "moved";
  Engine engine = createEngine(cache);
  fs::rename(cache, moved);
  fs::create_directory(cache);
  fs::copy(file, cache / file.filename());
  EXPECT_EQ(compileAndRun(engine), Source::compiler);
  EXPECT_TRUE(fs::exists(moved / file.filename()));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST_F(JITCacheTrust, FileThatOthersMayWrite) {
  for (unsigned mode : {0666u, 0620u, 0602u}) {
    fs::permissions(file, fs::perms(mode));
    expectReplaced();
    EXPECT_EQ(modeOf(file), 0600u);
  }
}

TEST_F(JITCacheTrust, FileOfAnotherUser) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(file.c_str(), otherUser, gid_t(-1)), 0);
  expectReplaced();
}

TEST_F(JITCacheTrust, Links) {
  fs::path elsewhere = directory / "good";
  fs::rename(file, elsewhere);
  for (const fs::path &target : {elsewhere, fs::path("/dev/zero")}) {
    fs::remove(file);
    fs::create_symlink(target, file);
    expectReplaced();
    EXPECT_FALSE(fs::is_symlink(file));
  }
}

TEST_F(JITCacheTrust, Pipe) {
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  expectReplaced();
}

TEST_F(JITCacheTrust, DirectoryInPlaceOfAFile) {
  fs::remove(file);
  fs::create_directory(file);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(compileAndRun(createEngine(directory)), Source::compiler);
  EXPECT_EQ(files().size(), 1u); // Nothing is left beside it.
}

/// The most memory that this process has ever had, in bytes.
std::size_t peakMemory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::size_t kibibytes = 0;
  while (status >> word && word != "VmHWM:")
    ;
  status >> kibibytes;
  return kibibytes << 10;
}

TEST_F(JITCacheTrust, LargeFile) {
  std::size_t before = peakMemory();
  ASSERT_GT(before, 0u);
  const std::size_t size = std::size_t(2) << 30;
  fs::resize_file(file, size); // Sparse.
  expectReplaced();
  EXPECT_LT(peakMemory() - before, size / 2);
}

} // namespace
