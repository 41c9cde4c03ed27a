#ifndef SECURITY_SECCERTIFICATE_H
#define SECURITY_SECCERTIFICATE_H

#include <Security/SecBase.h>

CF_EXTERN_C_BEGIN

/// The type identifier of certificates.
CF_EXPORT CFTypeID SecCertificateGetTypeID(void);

/// Creates a certificate from its DER encoding. Returns NULL if the data are anything else, or have bytes after it.
CF_EXPORT SecCertificateRef _Nullable SecCertificateCreateWithData(CFAllocatorRef _Nullable allocator, CFDataRef _Nullable data) CF_REFINED_FOR_SWIFT;

/// The DER encoding of a certificate; NULL unless the argument is one.
CF_EXPORT CFDataRef _Nullable SecCertificateCopyData(SecCertificateRef _Nullable certificate) CF_REFINED_FOR_SWIFT;

/// A short name to show to the user: the common name, else the unit or the organization of the subject, else the first alternative name, else the
/// serial number. It proves nothing. NULL unless the argument is a certificate.
CF_EXPORT CFStringRef _Nullable SecCertificateCopySubjectSummary(SecCertificateRef _Nullable certificate) CF_REFINED_FOR_SWIFT;

/// Returns the common name of the subject, the last one if there are several; NULL if it has none. It proves nothing. Fails with errSecParam unless
/// the arguments are a certificate and a pointer.
CF_EXPORT OSStatus SecCertificateCopyCommonName(SecCertificateRef _Nullable certificate, CFStringRef _Nullable *_Nullable CF_RETURNS_RETAINED commonName) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
