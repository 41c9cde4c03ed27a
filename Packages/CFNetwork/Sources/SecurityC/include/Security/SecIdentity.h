#ifndef SECURITY_SECIDENTITY_H
#define SECURITY_SECIDENTITY_H

#include <Security/SecBase.h>

CF_EXTERN_C_BEGIN

/// The type identifier of identities.
CF_EXPORT CFTypeID SecIdentityGetTypeID(void);

/// Returns the certificate of an identity. Fails with errSecParam unless the arguments are an identity and a pointer.
CF_EXPORT OSStatus SecIdentityCopyCertificate(SecIdentityRef _Nullable identityRef, SecCertificateRef _Nullable *_Nullable CF_RETURNS_RETAINED certificateRef);

CF_EXTERN_C_END

#endif
