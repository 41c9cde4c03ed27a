// The functions of CFFTPStream.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation
@_spi(Packages) internal import FTPListing
internal import FTPStream
internal import Foundation
internal import StreamKit

@_cdecl("CFReadStreamCreateWithFTPURL") @implementation
package func __CFReadStreamCreateWithFTPURL(_ alloc: CFAllocator?, _ ftpURL: CFURL) -> Unmanaged<CFReadStream> {
    guard let url = URL(string: string(ftpURL)), let stream = try? ReadStream(ftpURL: url) else { return nullable(nil) }
    if stream.kind.honours(.ftp(\.listingCommand)) {
        // CFFTPCreateParsedResourceListing reads every format, and programs that read the lines themselves expect that of LIST.
        try? stream.set(.ftp(\.listingCommand), to: .list)
    }
    return nullable(makeReadStream(alloc, ReadStreamState(stream, keys: .ftp)))
}

@_cdecl("CFWriteStreamCreateWithFTPURL") @implementation
package func __CFWriteStreamCreateWithFTPURL(_ alloc: CFAllocator?, _ ftpURL: CFURL) -> Unmanaged<CFWriteStream> {
    guard let url = URL(string: string(ftpURL)), let stream = try? WriteStream(ftpURL: url) else {
        return nullable(nil)
    }
    let state = WriteStreamState(stream, keys: .ftp, finishesAtClose: true)
    let info = Unmanaged<ObjectState>.passRetained(state)
    return nullable(cfn_write_stream_create(alloc, info.toOpaque()))
}

/// A read stream that owns a state. Nil if the allocator has no memory.
func makeReadStream(_ allocator: CFAllocator?, _ state: ReadStreamState) -> Unmanaged<CFReadStream>? {
    cfn_read_stream_create(allocator, Unmanaged<ObjectState>.passRetained(state).toOpaque())
}

@_cdecl("CFFTPCreateParsedResourceListing") @implementation
package func __CFFTPCreateParsedResourceListing(
    _ alloc: CFAllocator?, _ buffer: UnsafePointer<UInt8>, _ bufferLength: CFIndex,
    _ parsed: UnsafeMutablePointer<Unmanaged<CFDictionary>?>?
) -> CFIndex {
    parsed?.pointee = nil
    guard bufferLength >= 0 else { return -1 }
    let now = Int64(Date().timeIntervalSince1970)
    var parser = ListingParser(ListingOptions(now: now))
    let bytes = RawSpan(_unsafeStart: buffer, byteCount: bufferLength)
    do throws(ListingError) {
        let step = try parser.parse(bytes)
        var entry = step.entry
        var used = step.consumed
        // If the line can be read in two ways, those after it show which one is right. Each call looks at them again, so at few of them.
        var linesAhead = 0
        while entry == nil, parser.holdsEntries {
            guard linesAhead < 32, let next = try? parser.parse(bytes.extracting(droppingFirst: used)),
                next.consumed > 0
            else {
                entry = try parser.finish(bytes.extracting(first: 0)).first
                break
            }
            entry = next.entry
            used += next.consumed
            linesAhead += 1
        }
        if let entry { parsed?.pointee = entry.dictionary }
        return step.consumed
    } catch {
        return -1
    }
}

extension ListingEntry {
    /// A retained dictionary with CFFTPStream.h's keys, and only the facts that the line has.
    fileprivate var dictionary: Unmanaged<CFDictionary> {
        let dictionary = cfn_dictionary_create().takeRetainedValue()
        dictionary.set(__kCFFTPResourceName, cfString(name))
        dictionary.set(__kCFFTPResourceType, cfNumber(Int(kind.directoryEntryType)))
        if let size { dictionary.set(__kCFFTPResourceSize, cfNumber(Int(clamping: size))) }
        if let owner { dictionary.set(__kCFFTPResourceOwner, cfString(owner)) }
        if let group { dictionary.set(__kCFFTPResourceGroup, cfString(group)) }
        if let mode { dictionary.set(__kCFFTPResourceMode, cfNumber(Int(mode))) }
        if let linkTarget { dictionary.set(__kCFFTPResourceLink, cfString(linkTarget)) }
        if let date {
            let time = Double(date.secondsSince1970()) - kCFAbsoluteTimeIntervalSince1970
            let object: CFDate = CFDateCreate(nil, time)
            dictionary.set(__kCFFTPResourceModDate, Unmanaged.passRetained(object))
        }
        return dictionary.retained
    }
}
