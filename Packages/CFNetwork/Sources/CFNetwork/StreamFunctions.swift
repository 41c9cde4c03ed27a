// The functions of CFStream.h with the types that Swift has on Apple's systems. The header and Apple's documentation describe them.
// A stream of Foundation that CFNetwork has not created can be opened, read, written and closed, and be the body of a request.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CFNetworkC
internal import CFNetworkEngine
public import CoreFoundation
public import Dispatch
public import Foundation

// MARK: Creating

/// Creates the streams of a pair that the caller asks for.
private func pair(
    _ readStream: UnsafeMutablePointer<Unmanaged<CFReadStream>?>?,
    _ writeStream: UnsafeMutablePointer<Unmanaged<CFWriteStream>?>?,
    _ create: (
        UnsafeMutablePointer<Unmanaged<CoreFoundation.CFReadStream>?>?,
        UnsafeMutablePointer<Unmanaged<CoreFoundation.CFWriteStream>?>?
    ) -> Void
) {
    var (reader, writer): (Unmanaged<CoreFoundation.CFReadStream>?, Unmanaged<CoreFoundation.CFWriteStream>?)
    switch (readStream, writeStream) {
    case (nil, nil): create(nil, nil)
    case (_?, nil): create(&reader, nil)
    case (nil, _?): create(nil, &writer)
    case (_?, _?): create(&reader, &writer)
    }
    readStream?.pointee = reader.map { stream($0) }
    writeStream?.pointee = writer.map { stream($0) }
}

/// Creates the streams of a pair that the caller asks for.
public func CFStreamCreatePairWithSocket(
    _ alloc: CFAllocator?, _ sock: CFSocketNativeHandle, _ readStream: UnsafeMutablePointer<Unmanaged<CFReadStream>?>?,
    _ writeStream: UnsafeMutablePointer<Unmanaged<CFWriteStream>?>?
) {
    pair(readStream, writeStream) { CoreFoundation.CFStreamCreatePairWithSocket(alloc, sock, $0, $1) }
}

/// Creates the streams of a pair that the caller asks for.
public func CFStreamCreatePairWithSocketToHost(
    _ alloc: CFAllocator?, _ host: CFString?, _ port: UInt32,
    _ readStream: UnsafeMutablePointer<Unmanaged<CFReadStream>?>?,
    _ writeStream: UnsafeMutablePointer<Unmanaged<CFWriteStream>?>?
) {
    pair(readStream, writeStream) {
        CoreFoundation.CFStreamCreatePairWithSocketToHost(alloc, host.map { bridge($0) }, port, $0, $1)
    }
}

/// Creates the streams of a pair that the caller asks for.
public func CFStreamCreatePairWithPeerSocketSignature(
    _ alloc: CFAllocator?, _ signature: UnsafePointer<CFSocketSignature>?,
    _ readStream: UnsafeMutablePointer<Unmanaged<CFReadStream>?>?,
    _ writeStream: UnsafeMutablePointer<Unmanaged<CFWriteStream>?>?
) {
    pair(readStream, writeStream) { CoreFoundation.CFStreamCreatePairWithPeerSocketSignature(alloc, signature, $0, $1) }
}

/// Creates a pair of streams to a port of a host: to its addresses if they are known, otherwise to its name, which is looked up when a
/// stream is opened. A result that is not wanted is NULL. Both results are NULL for a port that is 0 or above 65535.
public func CFStreamCreatePairWithSocketToCFHost(
    _ alloc: CFAllocator?, _ host: CFHost, _ port: Int32, _ readStream: UnsafeMutablePointer<Unmanaged<CFReadStream>?>?,
    _ writeStream: UnsafeMutablePointer<Unmanaged<CFWriteStream>?>?
) {
    pair(readStream, writeStream) { CFNetworkC.CFStreamCreatePairWithSocketToCFHost(alloc, host, port, $0, $1) }
}

/// Creates a pair of streams to a service, which is resolved when a stream is opened, without a time limit. A result that is not wanted is
/// NULL. Both results are NULL for a name, type or domain that no service has.
public func CFStreamCreatePairWithSocketToNetService(
    _ alloc: CFAllocator?, _ service: CFNetService, _ readStream: UnsafeMutablePointer<Unmanaged<CFReadStream>?>?,
    _ writeStream: UnsafeMutablePointer<Unmanaged<CFWriteStream>?>?
) {
    pair(readStream, writeStream) { CFNetworkC.CFStreamCreatePairWithSocketToNetService(alloc, service, $0, $1) }
}

/// Creates the streams of a pair that the caller asks for.
public func CFStreamCreateBoundPair(
    _ alloc: CFAllocator?, _ readStream: UnsafeMutablePointer<Unmanaged<CFReadStream>?>?,
    _ writeStream: UnsafeMutablePointer<Unmanaged<CFWriteStream>?>?, _ transferBufferSize: CFIndex
) {
    pair(readStream, writeStream) { CoreFoundation.CFStreamCreateBoundPair(alloc, $0, $1, transferBufferSize) }
}

/// Creates a stream of bytes in memory, which it does not copy and releases with the deallocator.
public func CFReadStreamCreateWithBytesNoCopy(
    _ alloc: CFAllocator!, _ bytes: UnsafePointer<UInt8>?, _ length: CFIndex, _ bytesDeallocator: CFAllocator!
) -> CFReadStream! {
    CoreFoundation.CFReadStreamCreateWithBytesNoCopy(alloc, bytes, length, bytesDeallocator).map {
        ReadStreamObject($0)
    }
}

/// Creates a stream that writes into memory of a fixed size.
public func CFWriteStreamCreateWithBuffer(
    _ alloc: CFAllocator!, _ buffer: UnsafeMutablePointer<UInt8>?, _ bufferCapacity: CFIndex
) -> CFWriteStream! {
    CoreFoundation.CFWriteStreamCreateWithBuffer(alloc, buffer, bufferCapacity).map { WriteStreamObject($0) }
}

/// Creates a stream that writes into memory which grows; its bytes are the property `dataWritten`.
public func CFWriteStreamCreateWithAllocatedBuffers(_ alloc: CFAllocator!, _ bufferAllocator: CFAllocator!)
    -> CFWriteStream!
{
    CoreFoundation.CFWriteStreamCreateWithAllocatedBuffers(alloc, bufferAllocator).map { WriteStreamObject($0) }
}

/// Creates a stream that reads a file.
public func CFReadStreamCreateWithFile(_ alloc: CFAllocator!, _ fileURL: CFURL!) -> CFReadStream! {
    CoreFoundation.CFReadStreamCreateWithFile(alloc, fileURL.map { bridge($0) }).map { ReadStreamObject($0) }
}

/// Creates a stream that writes a file.
public func CFWriteStreamCreateWithFile(_ alloc: CFAllocator!, _ fileURL: CFURL!) -> CFWriteStream! {
    CoreFoundation.CFWriteStreamCreateWithFile(alloc, fileURL.map { bridge($0) }).map { WriteStreamObject($0) }
}

// MARK: States

/// The state of a stream.
public func CFReadStreamGetStatus(_ stream: CFReadStream?) -> CFStreamStatus {
    stream.flatMap { CFStreamStatus(rawValue: CFIndex($0.streamStatus.rawValue)) } ?? .error
}

/// The state of a stream.
public func CFWriteStreamGetStatus(_ stream: CFWriteStream?) -> CFStreamStatus {
    stream.flatMap { CFStreamStatus(rawValue: CFIndex($0.streamStatus.rawValue)) } ?? .error
}

/// The error of a failed stream in the older form; domain 0 if it has none.
public func CFReadStreamGetError(_ stream: CFReadStream?) -> CFStreamError {
    object(stream).map { CoreFoundation.CFReadStreamGetError($0) } ?? CFStreamError()
}

/// The error of a failed stream in the older form; domain 0 if it has none.
public func CFWriteStreamGetError(_ stream: CFWriteStream?) -> CFStreamError {
    object(stream).map { CoreFoundation.CFWriteStreamGetError($0) } ?? CFStreamError()
}

/// The error of a failed stream; nil if it has none.
public func CFReadStreamCopyError(_ stream: CFReadStream?) -> CFError? {
    object(stream).flatMap { CoreFoundation.CFReadStreamCopyError($0) }
}

/// The error of a failed stream; nil if it has none.
public func CFWriteStreamCopyError(_ stream: CFWriteStream?) -> CFError? {
    object(stream).flatMap { CoreFoundation.CFWriteStreamCopyError($0) }
}

/// Begins to open a stream, and returns at once. Returns false if that failed.
@discardableResult
public func CFReadStreamOpen(_ stream: CFReadStream?) -> Bool {
    if let object = object(stream) { return CoreFoundation.CFReadStreamOpen(object) }
    stream?.open()
    return stream.map { $0.streamStatus != .error } ?? false
}

/// Begins to open a stream, and returns at once. Returns false if that failed.
@discardableResult
public func CFWriteStreamOpen(_ stream: CFWriteStream?) -> Bool {
    if let object = object(stream) { return CoreFoundation.CFWriteStreamOpen(object) }
    stream?.open()
    return stream.map { $0.streamStatus != .error } ?? false
}

/// Closes a stream. No event follows.
public func CFReadStreamClose(_ stream: CFReadStream?) { stream?.close() }

/// Closes a stream. No event follows.
public func CFWriteStreamClose(_ stream: CFWriteStream?) { stream?.close() }

// MARK: Reading and writing

/// Whether a read would not wait.
public func CFReadStreamHasBytesAvailable(_ stream: CFReadStream?) -> Bool { stream?.hasBytesAvailable ?? false }

/// Reads 1 to `bufferLength` bytes, blocking the thread. Returns 0 at the end, and -1 for a failure.
public func CFReadStreamRead(_ stream: CFReadStream?, _ buffer: UnsafeMutablePointer<UInt8>?, _ bufferLength: CFIndex)
    -> CFIndex
{
    guard let stream, let buffer else { return -1 }
    return stream.read(buffer, maxLength: bufferLength)
}

/// Returns bytes of the stream without a copy, valid until its next function; nil for a stream that has no such memory.
public func CFReadStreamGetBuffer(
    _ stream: CFReadStream?, _ maxBytesToRead: CFIndex, _ numBytesRead: UnsafeMutablePointer<CFIndex>?
) -> UnsafePointer<UInt8>? {
    object(stream).flatMap { CoreFoundation.CFReadStreamGetBuffer($0, maxBytesToRead, numBytesRead) }
}

/// Whether a write would not wait.
public func CFWriteStreamCanAcceptBytes(_ stream: CFWriteStream?) -> Bool { stream?.hasSpaceAvailable ?? false }

/// Writes 1 to `bufferLength` bytes, blocking the thread. Returns 0 for a full destination of fixed size, and -1 for a failure.
public func CFWriteStreamWrite(_ stream: CFWriteStream?, _ buffer: UnsafePointer<UInt8>?, _ bufferLength: CFIndex)
    -> CFIndex
{
    guard let stream, let buffer else { return -1 }
    return stream.write(buffer, maxLength: bufferLength)
}

// MARK: Properties

/// The value of a property; nil if the stream has none, or none yet.
public func CFReadStreamCopyProperty(_ stream: CFReadStream?, _ propertyName: CFStreamPropertyKey?) -> CFTypeRef? {
    guard let propertyName else { return nil }
    return stream?.property(forKey: .init(propertyName.rawValue as String))
}

/// The value of a property; nil if the stream has none, or none yet.
public func CFWriteStreamCopyProperty(_ stream: CFWriteStream?, _ propertyName: CFStreamPropertyKey?) -> CFTypeRef? {
    guard let propertyName else { return nil }
    return stream?.property(forKey: .init(propertyName.rawValue as String))
}

/// Sets a property. Returns false for a property or value that the stream does not honour.
@discardableResult
public func CFReadStreamSetProperty(
    _ stream: CFReadStream?, _ propertyName: CFStreamPropertyKey?, _ propertyValue: CFTypeRef?
) -> Bool {
    guard let propertyName else { return false }
    return stream?.setProperty(propertyValue, forKey: .init(propertyName.rawValue as String)) ?? false
}

/// Sets a property. Returns false for a property or value that the stream does not honour.
@discardableResult
public func CFWriteStreamSetProperty(
    _ stream: CFWriteStream?, _ propertyName: CFStreamPropertyKey?, _ propertyValue: CFTypeRef?
) -> Bool {
    guard let propertyName else { return false }
    return stream?.setProperty(propertyValue, forKey: .init(propertyName.rawValue as String)) ?? false
}

// MARK: Events

/// Sets the client of a stream, or removes it for a nil function. Returns false for a stream that CFNetwork has not created.
@discardableResult
public func CFReadStreamSetClient(
    _ stream: CFReadStream?, _ streamEvents: CFOptionFlags, _ clientCB: CFReadStreamClientCallBack?,
    _ clientContext: UnsafeMutablePointer<CFStreamClientContext>?
) -> Bool {
    guard let stream = stream as? ReadStreamObject else { return false }
    guard let clientCB else { return CoreFoundation.CFReadStreamSetClient(stream.object, 0, nil, nil) }
    return stream.setClient(streamEvents, clientContext, clientCB)
}

/// Sets the client of a stream, or removes it for a nil function. Returns false for a stream that CFNetwork has not created.
@discardableResult
public func CFWriteStreamSetClient(
    _ stream: CFWriteStream?, _ streamEvents: CFOptionFlags, _ clientCB: CFWriteStreamClientCallBack?,
    _ clientContext: UnsafeMutablePointer<CFStreamClientContext>?
) -> Bool {
    guard let stream = stream as? WriteStreamObject else { return false }
    guard let clientCB else { return CoreFoundation.CFWriteStreamSetClient(stream.object, 0, nil, nil) }
    return stream.setClient(streamEvents, clientContext, clientCB)
}

/// Calls the client of a stream on a run loop in a mode.
public func CFReadStreamScheduleWithRunLoop(
    _ stream: CFReadStream?, _ runLoop: CFRunLoop?, _ runLoopMode: CFRunLoopMode?
) {
    guard let stream = stream as? ReadStreamObject, let runLoopMode else { return }
    stream.leaveQueue()
    CoreFoundation.CFReadStreamScheduleWithRunLoop(stream.object, runLoop, runLoopMode.object)
}

/// Calls the client of a stream on a run loop in a mode.
public func CFWriteStreamScheduleWithRunLoop(
    _ stream: CFWriteStream?, _ runLoop: CFRunLoop?, _ runLoopMode: CFRunLoopMode?
) {
    guard let stream = stream as? WriteStreamObject, let runLoopMode else { return }
    stream.leaveQueue()
    CoreFoundation.CFWriteStreamScheduleWithRunLoop(stream.object, runLoop, runLoopMode.object)
}

/// Ends the calls of the client on a run loop in a mode.
public func CFReadStreamUnscheduleFromRunLoop(
    _ stream: CFReadStream?, _ runLoop: CFRunLoop?, _ runLoopMode: CFRunLoopMode?
) {
    guard let object = object(stream), let runLoopMode else { return }
    CoreFoundation.CFReadStreamUnscheduleFromRunLoop(object, runLoop, runLoopMode.object)
}

/// Ends the calls of the client on a run loop in a mode.
public func CFWriteStreamUnscheduleFromRunLoop(
    _ stream: CFWriteStream?, _ runLoop: CFRunLoop?, _ runLoopMode: CFRunLoopMode?
) {
    guard let object = object(stream), let runLoopMode else { return }
    CoreFoundation.CFWriteStreamUnscheduleFromRunLoop(object, runLoop, runLoopMode.object)
}

/// Calls the client on a queue, and no longer on run loops; nil ends its events.
public func CFReadStreamSetDispatchQueue(_ stream: CFReadStream?, _ q: DispatchQueue?) {
    (stream as? ReadStreamObject)?.setQueue(q)
}

/// The queue on which the client of a stream is called; nil if it has none.
public func CFReadStreamCopyDispatchQueue(_ stream: CFReadStream?) -> DispatchQueue? {
    (stream as? ReadStreamObject)?.queue
}

/// Calls the client on a queue, and no longer on run loops; nil ends its events.
public func CFWriteStreamSetDispatchQueue(_ stream: CFWriteStream?, _ q: DispatchQueue?) {
    (stream as? WriteStreamObject)?.setQueue(q)
}

/// The queue on which the client of a stream is called; nil if it has none.
public func CFWriteStreamCopyDispatchQueue(_ stream: CFWriteStream?) -> DispatchQueue? {
    (stream as? WriteStreamObject)?.queue
}

// MARK: Functions of CFNetwork

/// Sets the security level of both streams of a pair, before or after they are opened; SSLv23 means the best level that both sides support.
/// Returns whether both streams honour it: SSL 2 and SSL 3 are refused.
@discardableResult
public func CFSocketStreamPairSetSecurityProtocol(
    _ socketReadStream: CFReadStream?, _ socketWriteStream: CFWriteStream?,
    _ securityProtocol: CFStreamSocketSecurityProtocol
) -> Bool {
    guard let reader = object(socketReadStream), let writer = object(socketWriteStream) else { return false }
    return CFNetworkC.CFSocketStreamPairSetSecurityProtocol(reader, writer, securityProtocol)
}

/// Sets kCFStreamPropertyHTTPShouldAutoredirect. Declared by older systems.
public func CFHTTPReadStreamSetRedirectsAutomatically(_ httpStream: CFReadStream?, _ shouldAutoRedirect: Bool) {
    if let object = object(httpStream) {
        CFNetworkC.CFHTTPReadStreamSetRedirectsAutomatically(object, shouldAutoRedirect)
    }
}

/// Creates a diagnosis of streams, which it retains: of their peer and their errors. Without a stream of this library, it is about the
/// network of this machine.
public func CFNetDiagnosticCreateWithStreams(
    _ alloc: CFAllocator?, _ readStream: CFReadStream?, _ writeStream: CFWriteStream?
) -> Unmanaged<CFNetDiagnostic> {
    CFNetworkC.CFNetDiagnosticCreateWithStreams(alloc, object(readStream), object(writeStream))
}
