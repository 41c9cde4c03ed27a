// TXT records: items of one length byte and `key`, `key=` or `key=value` (RFC 6763 section 6).

#include "dns_sd.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// MARK: Reading

/// An item. Without a value, the item is a key alone.
struct item {
    const uint8_t *key;
    size_t keyLength;
    const uint8_t *value;
    size_t valueLength;
};

/// Reads the item at an offset, and moves the offset behind it; false at the end of the record.
static bool readItem(const uint8_t *bytes, size_t length, size_t *offset, struct item *item) {
    if (*offset >= length || bytes[*offset] > length - *offset - 1) return false;
    const uint8_t *text = bytes + *offset + 1;
    size_t size = bytes[*offset];
    const uint8_t *equals = memchr(text, '=', size);
    item->key = text;
    item->keyLength = equals == NULL ? size : (size_t)(equals - text);
    item->value = equals == NULL ? NULL : equals + 1;
    item->valueLength = equals == NULL ? 0 : size - item->keyLength - 1;
    *offset += 1 + size;
    return true;
}

static uint8_t lowercase(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte; }

static bool hasKey(const struct item *item, const char *key, size_t keyLength) {
    if (item->keyLength != keyLength) return false;
    for (size_t index = 0; index < keyLength; index++)
        if (lowercase(item->key[index]) != lowercase((uint8_t)key[index])) return false;
    return true;
}

/// Finds the first item of a key. An item without a key is never found (RFC 6763 section 6.4).
static bool find(const uint8_t *bytes, size_t length, const char *key, struct item *item) {
    size_t keyLength = strlen(key), offset = 0;
    if (keyLength == 0) return false;
    while (readItem(bytes, length, &offset, item))
        if (hasKey(item, key, keyLength)) return true;
    return false;
}

int TXTRecordContainsKey(uint16_t txtLen, const void *txtRecord, const char *key) {
    struct item item;
    return txtRecord != NULL && key != NULL && find(txtRecord, txtLen, key, &item);
}

const void *TXTRecordGetValuePtr(uint16_t txtLen, const void *txtRecord, const char *key, uint8_t *valueLen) {
    struct item item;
    bool isFound = txtRecord != NULL && key != NULL && find(txtRecord, txtLen, key, &item) && item.value != NULL;
    if (valueLen != NULL) *valueLen = isFound ? (uint8_t)item.valueLength : 0;
    return isFound ? item.value : NULL;
}

uint16_t TXTRecordGetCount(uint16_t txtLen, const void *txtRecord) {
    struct item item;
    size_t offset = 0;
    uint16_t count = 0;
    while (txtRecord != NULL && readItem(txtRecord, txtLen, &offset, &item)) count++;
    return count;
}

DNSServiceErrorType TXTRecordGetItemAtIndex(
    uint16_t txtLen, const void *txtRecord, uint16_t itemIndex, uint16_t keyBufLen, char *key, uint8_t *valueLen, const void **value) {
    if (txtRecord == NULL || key == NULL || valueLen == NULL || value == NULL) return kDNSServiceErr_BadParam;
    struct item item;
    size_t offset = 0;
    for (uint16_t index = 0; readItem(txtRecord, txtLen, &offset, &item); index++) {
        if (index != itemIndex) continue;
        if (item.keyLength >= keyBufLen) return kDNSServiceErr_NoMemory;
        memcpy(key, item.key, item.keyLength);
        key[item.keyLength] = 0;
        *valueLen = (uint8_t)item.valueLength;
        *value = item.value;
        return kDNSServiceErr_NoError;
    }
    return kDNSServiceErr_Invalid;
}

// MARK: Writing

enum { maximumItemLength = 255, maximumLength = UINT16_MAX };

/// The private contents of a record.
struct contents {
    uint8_t *bytes;
    uint16_t capacity;
    uint16_t length;
    bool isAllocated;
};
_Static_assert(sizeof(struct contents) <= sizeof(TXTRecordRef), "a record is too small for its contents");

static struct contents load(const TXTRecordRef *record) {
    struct contents contents;
    memcpy(&contents, record, sizeof contents);
    return contents;
}

static void store(TXTRecordRef *record, struct contents contents) { memcpy(record, &contents, sizeof contents); }

void TXTRecordCreate(TXTRecordRef *txtRecord, uint16_t bufferLen, void *buffer) {
    if (txtRecord != NULL) store(txtRecord, (struct contents){buffer, buffer == NULL ? 0 : bufferLen, 0, false});
}

void TXTRecordDeallocate(TXTRecordRef *txtRecord) {
    if (txtRecord == NULL) return;
    struct contents contents = load(txtRecord);
    if (contents.isAllocated) free(contents.bytes);
    store(txtRecord, (struct contents){NULL, 0, 0, false});
}

uint16_t TXTRecordGetLength(const TXTRecordRef *txtRecord) { return txtRecord == NULL ? 0 : load(txtRecord).length; }
const void *TXTRecordGetBytesPtr(const TXTRecordRef *txtRecord) { return txtRecord == NULL ? NULL : load(txtRecord).bytes; }

/// The length of an item with its length byte.
static size_t size(const struct item *item) { return 1 + item->keyLength + (item->value == NULL ? 0 : 1 + item->valueLength); }

/// Removes an item from the bytes.
static void removeItem(struct contents *contents, const struct item *item) {
    size_t start = (size_t)(item->key - 1 - contents->bytes), end = start + size(item);
    memmove(contents->bytes + start, contents->bytes + end, contents->length - end);
    contents->length = (uint16_t)(contents->length - size(item));
}

/// Makes room for a length. The bytes that are there stay.
static bool reserve(struct contents *contents, size_t length) {
    if (length <= contents->capacity) return true;
    size_t capacity = length < maximumLength / 2 ? 2 * length : maximumLength;
    uint8_t *bytes = realloc(contents->isAllocated ? contents->bytes : NULL, capacity);
    if (bytes == NULL) return false;
    if (!contents->isAllocated && contents->length > 0) memcpy(bytes, contents->bytes, contents->length);
    *contents = (struct contents){bytes, (uint16_t)capacity, contents->length, true};
    return true;
}

/// The length of a key; 0 if it is invalid.
static size_t lengthOfKey(const char *key) {
    size_t length = strlen(key);
    for (size_t index = 0; index < length; index++)
        if (key[index] < 0x20 || key[index] > 0x7E || key[index] == '=') return 0;
    return length;
}

DNSServiceErrorType TXTRecordSetValue(TXTRecordRef *txtRecord, const char *key, uint8_t valueSize, const void *value) {
    if (txtRecord == NULL || key == NULL) return kDNSServiceErr_BadParam;
    size_t keyLength = lengthOfKey(key);
    size_t itemLength = keyLength + (value == NULL ? 0 : 1 + (size_t)valueSize);
    if (keyLength == 0 || itemLength > maximumItemLength) return kDNSServiceErr_Invalid;

    struct contents contents = load(txtRecord);
    // Composed first: the key and the value may lie in the record.
    uint8_t text[1 + maximumItemLength];
    text[0] = (uint8_t)itemLength;
    memcpy(text + 1, key, keyLength);
    if (value != NULL) {
        text[1 + keyLength] = '=';
        memcpy(text + 2 + keyLength, value, valueSize);
    }
    char ownKey[1 + maximumItemLength];
    memcpy(ownKey, key, keyLength);
    ownKey[keyLength] = 0;

    struct item former;
    bool isReplaced = find(contents.bytes, contents.length, ownKey, &former);
    size_t length = contents.length + 1 + itemLength - (isReplaced ? size(&former) : 0);
    if (length > maximumLength || !reserve(&contents, length)) return kDNSServiceErr_NoMemory;
    // The bytes may have moved.
    if (isReplaced && find(contents.bytes, contents.length, ownKey, &former)) removeItem(&contents, &former);
    memcpy(contents.bytes + contents.length, text, 1 + itemLength);
    contents.length = (uint16_t)length;
    store(txtRecord, contents);
    return kDNSServiceErr_NoError;
}

DNSServiceErrorType TXTRecordRemoveValue(TXTRecordRef *txtRecord, const char *key) {
    if (txtRecord == NULL || key == NULL) return kDNSServiceErr_BadParam;
    struct contents contents = load(txtRecord);
    struct item item;
    if (!find(contents.bytes, contents.length, key, &item)) return kDNSServiceErr_NoSuchKey;
    removeItem(&contents, &item);
    store(txtRecord, contents);
    return kDNSServiceErr_NoError;
}
