// The functions of CFNetworkRuntime.h for streams. Their names are those of the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import CFNetworkC
package import CFNetworkC.Runtime
package import CoreFoundation
package import Foundation
internal import HostResolver
@_spi(CoreFoundation) package import RunLoopDelivery
internal import StreamKit
@_spi(CoreFoundation) internal import StreamKitFoundation

private func state<State: StreamState>(_ pointer: UnsafeMutableRawPointer, as type: State.Type = StreamState.self)
    -> State
{
    unsafeDowncast(Unmanaged<ObjectState>.fromOpaque(pointer).takeUnretainedValue(), to: type)
}

/// The states of a connection; no states for nil.
func makePair(_ pair: StreamPair?) -> CFNPair {
    guard let pair else { return CFNPair(reader: nil, writer: nil) }
    return makePair(pair, BridgedStreams(pair))
}

/// - Parameter streams: nil for a pair on which TLS never begins.
private func makePair(_ pair: StreamPair, _ streams: BridgedStreams?) -> CFNPair {
    let settings = DictionarySettings()
    let reader = ReadStreamState(pair.input, of: streams, settings: settings)
    let writer = WriteStreamState(pair.output, of: streams, settings: settings)
    return CFNPair(
        reader: Unmanaged<ObjectState>.passRetained(reader).toOpaque(),
        writer: Unmanaged<ObjectState>.passRetained(writer).toOpaque())
}

/// The states of a pair over a connected socket, which the pair borrows; no states for a negative descriptor.
@_cdecl("cfn_pair_with_socket") @implementation
package func cfn_pair_with_socket(_ socket: CInt) -> CFNPair {
    makePair(socket < 0 ? nil : StreamPair(descriptor: socket, ownership: .borrowed))
}

/// The states of a pair to a host; no states for an empty name, or a port that is 0 or above 65535.
@_cdecl("cfn_pair_with_host") @implementation
package func cfn_pair_with_host(_ host: CFString?, _ port: UInt32) -> CFNPair {
    guard let host = host.map({ string($0) }), !host.isEmpty, let port = UInt16(exactly: port), port > 0 else {
        return makePair(nil)
    }
    return makePair(StreamPair(host: host, port: port))
}

/// The states of a pair to the address in a `sockaddr`; no states if it has another family or length.
@_cdecl("cfn_pair_with_address") @implementation
package func cfn_pair_with_address(_ address: CFData) -> CFNPair {
    makePair((try? SocketAddress(sockaddr: bytes(address))).map { StreamPair(address: $0) })
}

/// The states of a writer and of the reader that receives its bytes, with a buffer of `size` bytes; no states for a size that is not
/// positive or above 1 GiB.
@_cdecl("cfn_pair_bound") @implementation
package func cfn_pair_bound(_ size: CFIndex) -> CFNPair {
    guard size > 0, size <= 1 << 30 else { return makePair(nil) }
    return makePair(StreamPair.bound(bufferSize: size), nil)
}

/// Gives the state of a reader its CoreFoundation object, which the state does not retain.
@_cdecl("cfn_read_attach") @implementation
package func cfn_read_attach(_ pointer: UnsafeMutableRawPointer, _ stream: CFReadStream) {
    state(pointer, as: ReadStreamState.self).attach(stream)
}

/// Gives the state of a writer its CoreFoundation object, which the state does not retain.
@_cdecl("cfn_write_attach") @implementation
package func cfn_write_attach(_ pointer: UnsafeMutableRawPointer, _ stream: CFWriteStream) {
    state(pointer, as: WriteStreamState.self).attach(stream)
}

/// Ends the events of a stream whose CoreFoundation object is about to be deallocated.
@_cdecl("cfn_stream_detach") @implementation
package func cfn_stream_detach(_ pointer: UnsafeMutableRawPointer) { state(pointer).detach() }

/// Begins to open a stream; false, and a retained error, if it failed.
@_cdecl("cfn_stream_open") @implementation
package func cfn_stream_open(
    _ pointer: UnsafeMutableRawPointer, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>,
    _ isOpen: UnsafeMutablePointer<Bool>
) -> Bool {
    let state: StreamState = state(pointer)
    do throws(StreamError) {
        try state.open()
    } catch let failure {
        error.pointee = failure.cfError
        isOpen.pointee = false
        return false
    }
    // A connection that has failed by now is reported as one that fails later: without the event that it has opened.
    let status = state.status
    isOpen.pointee = status != .opening && status != .error
    return true
}

/// Whether a stream has finished opening, with a retained error if that failed.
@_cdecl("cfn_stream_opened") @implementation
package func cfn_stream_opened(
    _ pointer: UnsafeMutableRawPointer, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>
) -> Bool {
    let state: StreamState = state(pointer)
    if state.status == .opening { return false }
    // CoreFoundation passes its variable for the stream's error, which may have one from opening.
    if error.pointee == nil { error.pointee = state.failure?.cfError }
    return true
}

/// Reads up to `count` bytes; returns their number, 0 at the end, or -1 with a retained error.
@_cdecl("cfn_read_bytes") @implementation
package func cfn_read_bytes(
    _ pointer: UnsafeMutableRawPointer, _ bytes: UnsafeMutablePointer<UInt8>, _ count: CFIndex,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>, _ isAtEnd: UnsafeMutablePointer<Bool>
) -> CFIndex {
    isAtEnd.pointee = false
    guard count > 0 else { return 0 }
    do throws(StreamError) {
        let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: count)
        // A reference to the object would be counted for each read.
        let state = Unmanaged<ReadStreamState>.fromOpaque(pointer)
        let read = try state._withUnsafeGuaranteedRef { state in
            Result { () throws(StreamError) in try state.read(into: buffer) }
        }.get()
        isAtEnd.pointee = read == 0
        return read
    } catch let failure {
        error.pointee = failure.cfError
        return -1
    }
}

/// Writes up to `count` bytes; returns their number, or -1 with a retained error.
@_cdecl("cfn_write_bytes") @implementation
package func cfn_write_bytes(
    _ pointer: UnsafeMutableRawPointer, _ bytes: UnsafePointer<UInt8>, _ count: CFIndex,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>
) -> CFIndex {
    guard count > 0 else { return 0 }
    do throws(StreamError) {
        return try state(pointer, as: WriteStreamState.self).write(RawSpan(_unsafeStart: bytes, byteCount: count))
    } catch let failure {
        error.pointee = failure.cfError
        return -1
    }
}

/// Whether the next read or write does not block.
@_cdecl("cfn_stream_is_ready") @implementation
package func cfn_stream_is_ready(_ pointer: UnsafeMutableRawPointer) -> Bool { state(pointer).isReady }

/// Closes a stream.
@_cdecl("cfn_stream_close") @implementation
package func cfn_stream_close(_ pointer: UnsafeMutableRawPointer) { state(pointer).close() }

/// The value of a property, retained; null if it has none.
@_cdecl("cfn_stream_copy") @implementation
package func cfn_stream_copy(_ pointer: UnsafeMutableRawPointer, _ key: CFString) -> Unmanaged<CFTypeRef>? {
    let state: StreamState = state(pointer)
    if key === StreamState.stateKey { return .passRetained(state) }
    return state.copy(string(key)).map { cfObject($0) }
}

/// Sets a property; false if the key or the value is refused.
@_cdecl("cfn_stream_set") @implementation
package func cfn_stream_set(_ pointer: UnsafeMutableRawPointer, _ key: CFString, _ value: CFTypeRef?) -> Bool {
    state(pointer).set(value, forKey: string(key))
}

/// The run loop and mode of a function in C.
package func runLoopTarget(_ loop: CFRunLoop, _ mode: CFString) -> RunLoopTarget {
    RunLoopTarget(coreFoundation: Unmanaged.passUnretained(loop).toOpaque(), mode: .init(rawValue: string(mode)))
}

/// Delivers the events of a stream on a run loop in a mode.
@_cdecl("cfn_stream_schedule") @implementation
package func cfn_stream_schedule(_ pointer: UnsafeMutableRawPointer, _ loop: CFRunLoop, _ mode: CFString) {
    state(pointer).addTarget(runLoopTarget(loop, mode))
}

/// Stops the delivery of events on a run loop in a mode.
@_cdecl("cfn_stream_unschedule") @implementation
package func cfn_stream_unschedule(_ pointer: UnsafeMutableRawPointer, _ loop: CFRunLoop, _ mode: CFString) {
    state(pointer).removeTarget(runLoopTarget(loop, mode))
}

/// Creates a CFReadStream that reads an InputStream of any class, which is opened and closed with it.
///
/// On Apple's systems, every InputStream is a CFReadStream.
package func CFNReadStreamCreateWithInputStream(_ input: InputStream) -> Unmanaged<CFReadStream> {
    nullable(makeReadStream(nil, ReadStreamState(ReadStream(transport: StreamedBody(input)), keys: .socket)))
}
