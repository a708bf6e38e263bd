//===- NpyFilesTest.cpp - NumPy array files on disk -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Npy/Npy.h"

#include "gtest/gtest.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace attn;

static std::vector<float> elements(const NpyArray &array) {
  EXPECT_EQ(array.type(), ElementType::f32);
  std::vector<float> result(array.bytes().size() / sizeof(float));
  std::memcpy(result.data(), array.bytes().data(), array.bytes().size());
  return result;
}

namespace {
class NpyFile : public ::testing::Test {
protected:
  void SetUp() override {
    const auto *info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory = std::filesystem::path(::testing::TempDir()) /
                ("attn-npy-" + std::string(info->name()));
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    path = (directory / "array.npy").string();
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::size_t filesInDirectory() {
    return std::size_t(
        std::distance(std::filesystem::directory_iterator(directory), {}));
  }

  std::filesystem::path directory;
  std::string path;
  float data[2] = {1, 2};
  TensorView view{data, std::array<std::int64_t, 1>{2}};
};
} // namespace

TEST_F(NpyFile, WriteAndRead) {
  for (int i = 0; i < 2; ++i) { // The second time, the file is replaced.
    data[0] = float(i);
    ASSERT_TRUE(writeNpy(path, view).ok());
    Expected<NpyArray> array = readNpy(path);
    ASSERT_TRUE(array.ok()) << array.error().message;
    EXPECT_EQ(elements(*array), (std::vector<float>{float(i), 2}));
    EXPECT_EQ(filesInDirectory(), 1u);
  }
}

TEST_F(NpyFile, WritesThroughALink) {
  std::string link = (directory / "link.npy").string();
  ASSERT_TRUE(writeNpy(path, view).ok());
  std::filesystem::create_symlink(path, link);
  data[0] = 9;
  ASSERT_TRUE(writeNpy(link, view).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(elements(*readNpy(path)), (std::vector<float>{9, 2}));
}

TEST_F(NpyFile, LeavesOthersTemporariesAlone) {
  std::ofstream(path + ".tmp0") << "other";
  ASSERT_TRUE(writeNpy(path, view).ok());
  EXPECT_EQ(std::filesystem::file_size(path + ".tmp0"), 5u);
  EXPECT_EQ(filesInDirectory(), 2u);
}

TEST_F(NpyFile, ReadErrors) {
  auto message = [](const std::string &path) {
    Expected<NpyArray> array = readNpy(path);
    return array ? "no error" : array.error().message;
  };
  EXPECT_EQ(message(path), path + ": cannot open: No such file or directory");
  EXPECT_EQ(message(directory.string()),
            directory.string() + ": not a regular file");
  std::ofstream(path) << "x";
  EXPECT_EQ(message(path), path + ": expected the magic bytes of a .npy file");
}

TEST_F(NpyFile, WriteErrors) {
  auto message = [&](const std::string &path) {
    Status status = writeNpy(path, view);
    return status ? "no error" : status.error().message;
  };
  EXPECT_EQ(message(directory.string()),
            directory.string() + ": cannot write: not a regular file");
  EXPECT_EQ(message("/dev/null"),
            "/dev/null: cannot write: not a regular file");
  std::string missing = (directory / "none" / "array.npy").string();
  EXPECT_EQ(message(missing),
            missing + ": cannot write: No such file or directory");
  EXPECT_EQ(message(""), ": cannot write: No such file or directory");
  EXPECT_EQ(filesInDirectory(), 0u);
}
