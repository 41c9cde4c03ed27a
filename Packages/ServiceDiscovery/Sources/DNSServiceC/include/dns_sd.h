#ifndef DNS_SD_H
#define DNS_SD_H

// The part of Apple's dns_sd.h that needs no service: TXT records. A function that is not there is not declared.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The result of a function.
typedef int32_t DNSServiceErrorType;

/// The errors that the functions return.
enum {
    kDNSServiceErr_NoError = 0,
    kDNSServiceErr_NoMemory = -65539,
    kDNSServiceErr_BadParam = -65540,
    kDNSServiceErr_Invalid = -65549,
    kDNSServiceErr_NoSuchKey = -65556,
};

/// A TXT record that is being written. Its contents are private; it may lie on the stack.
typedef union _TXTRecordRef_t {
    char PrivateData[16];
    char *ForceNaturalAlignment;
} TXTRecordRef;

/// Creates an empty record. The buffer, which may be NULL, is used as long as it is large enough; the record then allocates one of its own.
void TXTRecordCreate(TXTRecordRef *txtRecord, uint16_t bufferLen, void *buffer);

/// Releases what the record has allocated, and makes it empty.
void TXTRecordDeallocate(TXTRecordRef *txtRecord);

/// Adds a key with a value, in place of a value that it has. Without a value (NULL), the key stands alone; a value of no bytes is an empty one.
/// A key has printable ASCII characters except `=`, and its case does not matter (RFC 6763 section 6.4).
///
/// Returns kDNSServiceErr_Invalid for another key, or if key and value together are longer than an item, 255 bytes with the `=`; kDNSServiceErr_NoMemory if the
/// record would be longer than 65535 bytes; kDNSServiceErr_BadParam without a record or a key. The record is then unchanged.
DNSServiceErrorType TXTRecordSetValue(TXTRecordRef *txtRecord, const char *key, uint8_t valueSize, const void *value);

/// Removes a key. Returns kDNSServiceErr_NoSuchKey if there is none, kDNSServiceErr_BadParam without a record or a key.
DNSServiceErrorType TXTRecordRemoveValue(TXTRecordRef *txtRecord, const char *key);

/// The length of the record in bytes.
uint16_t TXTRecordGetLength(const TXTRecordRef *txtRecord);

/// The bytes of the record, until it is changed or deallocated.
const void *TXTRecordGetBytesPtr(const TXTRecordRef *txtRecord);

// Reading. An item that does not fit into the record ends it.

/// Whether a record has a key: 1 or 0.
int TXTRecordContainsKey(uint16_t txtLen, const void *txtRecord, const char *key);

/// The value of a key in the record, and its length. NULL if there is no such key, or it stands alone; an empty value is not NULL.
const void *TXTRecordGetValuePtr(uint16_t txtLen, const void *txtRecord, const char *key, uint8_t *valueLen);

/// The number of items in a record.
uint16_t TXTRecordGetCount(uint16_t txtLen, const void *txtRecord);

/// Writes the key of an item to a buffer, with a NUL, and returns its value in the record, NULL for a key alone.
///
/// Returns kDNSServiceErr_Invalid if the record has no such item; kDNSServiceErr_NoMemory if the buffer is too small; kDNSServiceErr_BadParam
/// without a record, a buffer or a place for the value.
DNSServiceErrorType TXTRecordGetItemAtIndex(
    uint16_t txtLen, const void *txtRecord, uint16_t itemIndex, uint16_t keyBufLen, char *key, uint8_t *valueLen, const void **value);

#ifdef __cplusplus
}
#endif

#endif
