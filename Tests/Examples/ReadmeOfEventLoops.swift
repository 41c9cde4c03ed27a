import EventLoops

enum ReadmeOfEventLoops {
    static var fd: Int32 { 0 }
    static func copyEverything() async -> Int { 0 }
}
