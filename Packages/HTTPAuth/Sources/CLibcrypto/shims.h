#ifndef NETKIT_CLIBCRYPTO_SHIMS_H
#define NETKIT_CLIBCRYPTO_SHIMS_H

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "HTTPAuth needs OpenSSL 3.0 or later."
#endif

#endif
