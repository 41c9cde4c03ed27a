/// The same guide's listings in their own shape: `NetService`, `NetServiceBrowser` and their delegates, as `NetKitFoundation` has
/// them for Linux. 3-1 is `NetServiceGuide.Chapter3.listing1`; `swift run listing foundation 3-1` runs it.
///
/// Each belongs on a thread whose run loop runs; the delegate is called there, and kept by nobody else. Appendix A is about
/// CFNetServices: see ``ServicesGuide/AppendixA``.
public enum NetServiceGuide {}
