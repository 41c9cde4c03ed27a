// The functions of Runtime.h for streams. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase, AllPublicDeclarationsHaveDocumentation

public import CFNetworkC
public import CFNetworkC.Runtime
public import CoreFoundation
internal import Foundation
internal import HostResolver
@_spi(CoreFoundation) internal import RunLoopDelivery
internal import StreamKit
internal import StreamKitFoundation

private func state<State: StreamState>(_ pointer: UnsafeMutableRawPointer, as type: State.Type = StreamState.self)
    -> State
{
    unsafeDowncast(Unmanaged<ObjectState>.fromOpaque(pointer).takeUnretainedValue(), to: type)
}

private func makePair(_ pair: StreamPair?) -> CFNPair {
    guard let pair else { return CFNPair(reader: nil, writer: nil) }
    var (input, output): (InputStream?, OutputStream?)
    Foundation.Stream.getStreams(of: pair, inputStream: &input, outputStream: &output)
    return makePair(input, output)
}

private func makePair(_ input: InputStream?, _ output: OutputStream?) -> CFNPair {
    guard let input = input as? BridgedInputStream, let output = output as? BridgedOutputStream else {
        return CFNPair(reader: nil, writer: nil)
    }
    return CFNPair(
        reader: Unmanaged<ObjectState>.passRetained(ReadStreamState(input)).toOpaque(),
        writer: Unmanaged<ObjectState>.passRetained(WriteStreamState(output)).toOpaque())
}

@_cdecl("cfn_pair_with_socket") @implementation
public func cfn_pair_with_socket(_ socket: CInt) -> CFNPair {
    makePair(socket < 0 ? nil : StreamPair(descriptor: socket, ownership: .borrowed))
}

@_cdecl("cfn_pair_with_host") @implementation
public func cfn_pair_with_host(_ host: CFString?, _ port: UInt32) -> CFNPair {
    guard let host = host.map({ string($0) }), !host.isEmpty, let port = UInt16(exactly: port), port > 0 else {
        return makePair(nil)
    }
    return makePair(StreamPair(host: host, port: port))
}

@_cdecl("cfn_pair_with_address") @implementation
public func cfn_pair_with_address(_ address: CFData) -> CFNPair {
    makePair((try? SocketAddress(sockaddr: bytes(address))).map { StreamPair(address: $0) })
}

@_cdecl("cfn_pair_bound") @implementation
public func cfn_pair_bound(_ size: CFIndex) -> CFNPair {
    guard size > 0 else { return makePair(nil) }
    var (input, output): (InputStream?, OutputStream?)
    Foundation.Stream.getBoundStreams(withBufferSize: size, inputStream: &input, outputStream: &output)
    return makePair(input, output)
}

@_cdecl("cfn_read_attach") @implementation
public func cfn_read_attach(_ pointer: UnsafeMutableRawPointer, _ stream: CFReadStream) {
    state(pointer, as: ReadStreamState.self).attach(stream)
}

@_cdecl("cfn_write_attach") @implementation
public func cfn_write_attach(_ pointer: UnsafeMutableRawPointer, _ stream: CFWriteStream) {
    state(pointer, as: WriteStreamState.self).attach(stream)
}

@_cdecl("cfn_stream_detach") @implementation
public func cfn_stream_detach(_ pointer: UnsafeMutableRawPointer) { state(pointer).detach() }

@_cdecl("cfn_stream_open") @implementation
public func cfn_stream_open(
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
    isOpen.pointee = state.status != .opening
    return true
}

@_cdecl("cfn_stream_opened") @implementation
public func cfn_stream_opened(
    _ pointer: UnsafeMutableRawPointer, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>
) -> Bool {
    let state: StreamState = state(pointer)
    if state.status == .opening { return false }
    error.pointee = state.failure?.cfError
    return true
}

@_cdecl("cfn_read_bytes") @implementation
public func cfn_read_bytes(
    _ pointer: UnsafeMutableRawPointer, _ bytes: UnsafeMutablePointer<UInt8>, _ count: CFIndex,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>, _ isAtEnd: UnsafeMutablePointer<Bool>
) -> CFIndex {
    isAtEnd.pointee = false
    guard count > 0 else { return 0 }
    do throws(StreamError) {
        let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: count)
        let read = try state(pointer, as: ReadStreamState.self).read(into: buffer)
        isAtEnd.pointee = read == 0
        return read
    } catch let failure {
        error.pointee = failure.cfError
        return -1
    }
}

@_cdecl("cfn_write_bytes") @implementation
public func cfn_write_bytes(
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

@_cdecl("cfn_stream_is_ready") @implementation
public func cfn_stream_is_ready(_ pointer: UnsafeMutableRawPointer) -> Bool { state(pointer).isReady }

@_cdecl("cfn_stream_close") @implementation
public func cfn_stream_close(_ pointer: UnsafeMutableRawPointer) { state(pointer).close() }

@_cdecl("cfn_stream_copy") @implementation
public func cfn_stream_copy(_ pointer: UnsafeMutableRawPointer, _ key: CFString) -> Unmanaged<CFTypeRef>? {
    switch state(pointer).copy(string(key)) {
    case nil: nil
    case let text as NSString: .fromOpaque(cfString(text as String).toOpaque())
    case let data as NSData: .fromOpaque(cfData([UInt8](data as Data)).toOpaque())
    case let value?: .passRetained(value)
    }
}

@_cdecl("cfn_stream_set") @implementation
public func cfn_stream_set(_ pointer: UnsafeMutableRawPointer, _ key: CFString, _ value: CFTypeRef?) -> Bool {
    state(pointer).set(value, forKey: string(key))
}

private func target(_ loop: CFRunLoop, _ mode: CFString) -> RunLoopTarget {
    RunLoopTarget(coreFoundation: Unmanaged.passUnretained(loop).toOpaque(), mode: .init(rawValue: string(mode)))
}

@_cdecl("cfn_stream_schedule") @implementation
public func cfn_stream_schedule(_ pointer: UnsafeMutableRawPointer, _ loop: CFRunLoop, _ mode: CFString) {
    state(pointer).addTarget(target(loop, mode))
}

@_cdecl("cfn_stream_unschedule") @implementation
public func cfn_stream_unschedule(_ pointer: UnsafeMutableRawPointer, _ loop: CFRunLoop, _ mode: CFString) {
    state(pointer).removeTarget(target(loop, mode))
}
