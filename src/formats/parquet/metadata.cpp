#include "formats/parquet/metadata.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "formats/parquet/byte_reader.h"
#include "formats/parquet/thrift_reader.h"

namespace weft::formats {

namespace {

constexpr std::string_view kParquetMagic = "PAR1";
constexpr std::string_view kEncryptedMagic = "PARE";
constexpr int kMaxSchemaDepth = 64;
constexpr std::size_t kMaxNameSize = 1024;

struct SchemaElement {
  enum Repetition { kRequired, kOptional, kRepeated };
  std::string name;
  int64_t type = -1;
  int64_t repetition = kRequired;
  int64_t children = 0;
  bool is_list = false;
  bool is_unsigned = false;
  bool is_decimal = false;
};

void read_logical_type(ThriftReader& thrift, SchemaElement& element) {
  thrift.read_struct([&](int64_t kind) {
    element.is_list |= kind == 3;
    element.is_decimal |= kind == 5;
    if (kind == 10) {
      thrift.read_struct([&](int64_t id) {
        if (id == 2) {
          element.is_unsigned = !thrift.boolean();
        }
      });
    }
  });
}

SchemaElement read_schema_element(ThriftReader& thrift) {
  SchemaElement element;
  thrift.read_struct([&](int64_t id) {
    if (id == 1) {
      element.type = thrift.size();
    } else if (id == 3) {
      element.repetition = thrift.integer();
    } else if (id == 4) {
      element.name = utf8::replace_invalid(thrift.text());
    } else if (id == 5) {
      element.children = thrift.size();
    } else if (id == 6) {  // the older form of the logical type
      const int64_t converted = thrift.integer();
      element.is_list |= converted == 3;
      element.is_decimal |= converted == 5;
      element.is_unsigned |= converted >= 11 && converted <= 14;
    } else if (id == 10) {
      read_logical_type(thrift, element);
    }
  });
  return element;
}

/// Collects the leaves of the schema, which is stored in depth-first order.
class SchemaTree {
 public:
  SchemaTree(const std::vector<SchemaElement>& elements, std::vector<ParquetColumn>& columns)
      : elements_(elements), columns_(columns) {
    const auto& root = take();
    for (int64_t child = 0; child < root.children; ++child) {
      add({}, false, 1);
    }
  }

 private:
  const SchemaElement& take() {
    if (next_ == elements_.size()) {
      fail_damaged("its schema is incomplete");
    }
    return elements_[next_++];
  }

  /// `column`: of the parent. `is_unnamed`: the element belongs to the representation of a list.
  void add(ParquetColumn column, bool is_unnamed, int depth) {
    const auto& element = take();
    const bool is_repeated = element.repetition == SchemaElement::kRepeated;
    if (!is_unnamed) {
      column.name += (column.name.empty() ? "" : ".") + element.name;
    }
    if (depth > kMaxSchemaDepth || column.name.size() > kMaxNameSize) {
      fail_damaged("its schema is nested too deeply");
    }
    column.max_definition += element.repetition != SchemaElement::kRequired ? 1 : 0;
    if (is_repeated) {
      ++column.max_repetition;
      column.item_definition = column.max_definition;
    }
    // A list is a group with a repeated child, which is the item or has the item as its only child.
    const bool hides = element.is_list || (is_unnamed && is_repeated && element.children == 1);
    for (int64_t child = 0; child < element.children; ++child) {
      add(column, hides, depth + 1);
    }
    if (element.children > 0 || element.type < 0) {
      return;  // a group
    }
    if (element.type > static_cast<int64_t>(ParquetType::kFixedLengthByteArray)) {
      fail_damaged("a column of an unknown type");
    }
    column.type = static_cast<ParquetType>(element.type);
    column.is_unsigned = element.is_unsigned;
    column.is_decimal = element.is_decimal;
    columns_.push_back(std::move(column));
  }

  const std::vector<SchemaElement>& elements_;
  std::vector<ParquetColumn>& columns_;
  std::size_t next_ = 0;
};

ParquetChunk read_chunk(ThriftReader& thrift) {
  ParquetChunk chunk;
  int64_t dictionary = 0;
  thrift.read_struct([&](int64_t id) {
    if (id == 1) {
      throw Error("Parquet data with the values in other files, must have them in the same file");
    }
    if (id == 8) {
      throw Error("encrypted Parquet data, must be decrypted first");
    }
    if (id != 3) {
      return;
    }
    thrift.read_struct([&](int64_t field) {
      if (field == 4) {
        chunk.codec = thrift.integer();
      } else if (field == 5) {
        chunk.values = thrift.size();
      } else if (field == 9) {
        chunk.offset = static_cast<uint64_t>(thrift.size());
      } else if (field == 11) {
        dictionary = thrift.size();
      }
    });
  });
  if (dictionary > 0) {  // some writers store 0 for none
    chunk.offset = std::min(chunk.offset, static_cast<uint64_t>(dictionary));
  }
  return chunk;
}

ParquetRowGroup read_row_group(ThriftReader& thrift) {
  ParquetRowGroup group;
  thrift.read_struct([&](int64_t id) {
    if (id == 1) {
      thrift.read_list([&] { group.chunks.push_back(read_chunk(thrift)); });
    } else if (id == 3) {
      group.rows = thrift.size();
    }
  });
  return group;
}

void check_row_groups(ParquetMetadata& metadata) {
  for (const auto& group : metadata.groups) {
    if (group.rows > INT64_MAX - metadata.rows) {
      fail_damaged("too many rows");
    }
    metadata.rows += group.rows;
    if (group.chunks.size() != metadata.columns.size()) {
      fail_damaged("a row group does not have every column");
    }
    for (const auto& chunk : group.chunks) {
      if (chunk.offset >= metadata.begin && group.rows > 0) {
        fail_damaged("values outside of the file");
      }
      if (chunk.values < group.rows) {
        fail_damaged("a column has fewer values than rows");
      }
    }
  }
}

}  // namespace

ParquetMetadata read_parquet_metadata(std::string_view file) {
  constexpr std::size_t kSizeBytes = 4;
  constexpr std::size_t kTrailer = kSizeBytes + kParquetMagic.size();
  if (file.ends_with(kEncryptedMagic)) {
    throw Error("encrypted Parquet data, must be decrypted first");
  }
  if (!file.starts_with(kParquetMagic)) {
    throw Error("not a Parquet file, which starts and ends with PAR1");
  }
  if (file.size() < kParquetMagic.size() + kTrailer || !file.ends_with(kParquetMagic)) {
    fail_damaged("it does not end with PAR1, so the file is incomplete");
  }
  const uint64_t size = ParquetBytes(file.substr(file.size() - kTrailer)).number(kSizeBytes);
  if (size > file.size() - kParquetMagic.size() - kTrailer) {
    fail_damaged("its metadata are larger than the file");
  }
  ParquetMetadata metadata;
  metadata.begin = file.size() - kTrailer - size;
  std::vector<SchemaElement> schema;
  ThriftReader thrift(file.substr(metadata.begin, size));
  thrift.read_root([&](int64_t id) {
    if (id == 2) {
      thrift.read_list([&] { schema.push_back(read_schema_element(thrift)); });
    } else if (id == 4) {
      thrift.read_list([&] { metadata.groups.push_back(read_row_group(thrift)); });
    }
  });
  SchemaTree(schema, metadata.columns);
  if (metadata.columns.empty()) {
    throw Error("Parquet data without columns, must have at least one");
  }
  check_row_groups(metadata);
  return metadata;
}

ParquetPageHeader read_page_header(std::string_view bytes) {
  ParquetPageHeader header;
  ThriftReader thrift(bytes);
  const auto read_version_1 = [&](int64_t id) {  // also that of a dictionary, which ends sooner
    if (id == 1) {
      header.values = thrift.size();
    } else if (id == 2) {
      header.encoding = thrift.integer();
    } else if (id == 3 && header.kind == ParquetPageHeader::kData) {
      header.definition_encoding = thrift.integer();
    } else if (id == 4) {
      header.repetition_encoding = thrift.integer();
    }
  };
  const auto read_version_2 = [&](int64_t id) {
    if (id == 1) {
      header.values = thrift.size();
    } else if (id == 4) {
      header.encoding = thrift.integer();
    } else if (id == 5) {
      header.definition_size = thrift.size();
    } else if (id == 6) {
      header.repetition_size = thrift.size();
    } else if (id == 7) {
      header.is_compressed = thrift.boolean();
    }
  };
  thrift.read_root([&](int64_t id) {
    if (id == 1) {
      header.kind = thrift.integer();
    } else if (id == 2) {
      header.size = thrift.size();
    } else if (id == 3) {
      header.stored_size = thrift.size();
    } else if (id == 4) {
      header.checksum = static_cast<uint32_t>(thrift.integer());
    } else if (id == 5 || id == 7) {
      thrift.read_struct(read_version_1);
    } else if (id == 8) {
      thrift.read_struct(read_version_2);
    }
  });
  constexpr int64_t kMaxSize = INT32_MAX;
  if (header.size > kMaxSize || header.stored_size > kMaxSize || header.values > kMaxSize) {
    fail_damaged("a page of more than 2 GiB");
  }
  header.header_size = bytes.size() - thrift.remaining();
  return header;
}

}  // namespace weft::formats
