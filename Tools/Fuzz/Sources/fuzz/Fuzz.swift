internal import Foundation

/// What `Scripts/fuzz` has chosen.
private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["NETKIT_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        preconditionFailure("'\(name)' stands in Seeds, but not in FuzzTarget.all")
    }
    return target
}()

/// libFuzzer calls this for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
