#ifndef CFNETWORK_CFNETDIAGNOSTICS_H
#define CFNETWORK_CFNETDIAGNOSTICS_H

#include <CFNetwork/CFNetworkDefs.h>

CF_EXTERN_C_BEGIN

/// A diagnosis of the network between this machine and the peer of a stream, or a URL. A CoreFoundation object; it is thread-safe.
typedef struct CF_BRIDGED_MUTABLE_TYPE(id) __CFNetDiagnostic *CFNetDiagnosticRef;

/// The results: success; failure; the network appears to work; that is unknown; it does not work.
typedef CF_ENUM(int, CFNetDiagnosticStatusValues) {
    kCFNetDiagnosticNoErr = 0,
    kCFNetDiagnosticErr = -66560,
    kCFNetDiagnosticConnectionUp = -66559,
    kCFNetDiagnosticConnectionIndeterminate = -66558,
    kCFNetDiagnosticConnectionDown = -66557,
};

/// A CFNetDiagnosticStatusValues.
typedef CFIndex CFNetDiagnosticStatus;

/// Creates a diagnosis of streams, which it retains: of their peer and their errors. Without a stream of this library, it is about the
/// network of this machine.
CF_EXPORT CFNetDiagnosticRef _Nonnull CFNetDiagnosticCreateWithStreams(CFAllocatorRef _Nullable alloc, CFReadStreamRef _Nullable readStream, CFWriteStreamRef _Nullable writeStream);

/// Creates a diagnosis of a URL. Returns NULL for a URL without a host, or without a port if its scheme has no known one.
CF_EXPORT CFNetDiagnosticRef _Nonnull CFNetDiagnosticCreateWithURL(CFAllocatorRef _Nullable alloc, CFURLRef _Nonnull url) CF_REFINED_FOR_SWIFT;

/// Sets the name of the program for CFNetDiagnosticDiagnoseProblemInteractively, by default that of the process.
CF_EXPORT void CFNetDiagnosticSetName(CFNetDiagnosticRef _Nonnull details, CFStringRef _Nonnull name) CF_REFINED_FOR_SWIFT;

/// Starts to look for the cause of the problem, and returns kCFNetDiagnosticNoErr at once. What it finds is written to standard error.
CF_EXPORT CFNetDiagnosticStatus CFNetDiagnosticDiagnoseProblemInteractively(CFNetDiagnosticRef _Nonnull details);

/// The status of the network, from what this machine knows: nothing is sent, and nothing waits. The description, if it is wanted, is a
/// retained sentence that gives the reason.
CF_EXPORT CFNetDiagnosticStatus CFNetDiagnosticCopyNetworkStatusPassively(CFNetDiagnosticRef _Nonnull details, CFStringRef _Nullable *_Nullable description) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
