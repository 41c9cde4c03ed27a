#ifndef SECURITY_SECPOLICY_H
#define SECURITY_SECPOLICY_H

#include <Security/SecBase.h>

CF_EXTERN_C_BEGIN

/// The type identifier of policies.
CF_EXPORT CFTypeID SecPolicyGetTypeID(void);

/// The policy for the certificate of a TLS server or, with FALSE, of a client, which must be valid for a host name or address unless that is NULL.
/// No certificate is valid for a text that is no name of a host. Returns NULL if the name is not a string.
CF_EXPORT SecPolicyRef _Nullable SecPolicyCreateSSL(Boolean server, CFStringRef _Nullable hostname) CF_REFINED_FOR_SWIFT;

/// The policy for a certificate of any use and name: only the chain and the dates are verified.
CF_EXPORT SecPolicyRef _Nonnull SecPolicyCreateBasicX509(void) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
