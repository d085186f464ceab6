/// What people write, for the data set and for live messages.
///
/// Short words, sentences, long stories, links and emoji in three languages, so
/// that sizes and scripts are those of a real chat.
public enum Phrases {
  public enum Language: CaseIterable, Sendable { case czech, chinese, english, mixed }

  public static let reactions = ["👍", "❤️", "😂", "🎉", "😮", "👀", "🙏", "💪🏽", "👩‍👩‍👧‍👦"]

  static let titles = [
    "Rodina", "Výlety a hory", "项目讨论", "Release crew", "Chalupa", "周末爬山", "Book club",
    "Fotbal v úterý", "家庭群", "On-call", "Knihovna a kavárna", "语言交换", "Design review",
    "Sousedé", "美食推荐", "Board games",
  ]

  /// A payload: an object with the text, or now and then a control message,
  /// which a client keeps and never shows.
  public static func payload(_ language: Language, _ dice: inout ServerDice) -> String {
    if dice.chance(0.004) { return "{\"_control\":\"key_rotation\",\"n\":\(dice.below(1000))}" }
    return "{\"text\":\(ServerJSON.quote(text(language, &dice)))}"
  }

  public static func text(_ language: Language, _ dice: inout ServerDice) -> String {
    var spoken = language
    if language == .mixed {
      spoken = [.czech, .chinese, .english][dice.below(3)]
    } else if dice.chance(0.05) {
      spoken = .english
    }
    let roll = dice.below(1000)
    if roll < 280 { return pick(short(spoken), &dice) }
    if roll < 310 { return pick(reactions, &dice) + (dice.chance(0.3) ? pick(emoji, &dice) : "") }
    if roll < 340 { return link(spoken, &dice) }
    var count = 1
    if roll >= 780 { count = 2 + dice.below(2) }
    if roll >= 960 { count = 5 + dice.below(8) }
    if roll >= 995 { count = 30 + dice.below(40) }
    let space = spoken == .chinese ? "" : (count > 20 ? "\n" : " ")
    var all = (0..<count).map { _ in sentence(spoken, &dice) }.joined(separator: space)
    if dice.chance(0.2) { all += " " + pick(emoji, &dice) }
    return all
  }

  private static func pick(_ all: [String], _ dice: inout ServerDice) -> String {
    all[dice.below(all.count)]
  }

  private static func link(_ language: Language, _ dice: inout ServerDice) -> String {
    let path = String(dice.next() >> 24, radix: 36)
    return pick(short(language), &dice) + " https://example.org/\(path)?q=a%20b&n=\(dice.below(99))"
  }

  /// A sentence with its gaps filled in.
  private static func sentence(_ language: Language, _ dice: inout ServerDice) -> String {
    var text = ""
    for part in pick(sentences(language), &dice).split(
      separator: "|", omittingEmptySubsequences: false)
    {
      switch part {
      case "W": text += pick(words(language), &dice)
      case "N": text += "\(2 + dice.below(58))"
      default: text += part
      }
    }
    return text
  }

  private static let emoji = ["🙂", "😅", "🤔", "🥳", "😭", "🔥", "✨", "☕️", "🍺", "🇨🇿", "🏔️", "🤷‍♀️"]

  private static func short(_ language: Language) -> [String] {
    switch language {
    case .czech:
      [
        "jo", "ok", "díky", "jasně", "super!", "ne", "už jedu", "za chvíli", "to je ono",
        "no nevím",
      ]
    case .chinese: ["好", "好的", "收到", "谢谢", "在吗?", "哈哈哈", "没问题", "马上到", "不行", "可以啊"]
    case .english, .mixed:
      ["ok", "thanks", "on it", "lol", "sounds good", "nope", "brb", "same here", "done", "why?"]
    }
  }

  private static func words(_ language: Language) -> [String] {
    switch language {
    case .czech:
      ["vlak", "chalupa", "žluťoučký kůň", "schůzka", "dort", "lístky", "kolo", "příloha"]
    case .chinese: ["火车", "会议", "蛋糕", "文件", "数据库", "重跑gen-itgc后", "电影票", "茶"]
    case .english, .mixed:
      ["train", "meeting", "cake", "tickets", "patch", "\"draft_v2\"", "budget", "bike"]
    }
  }

  private static func sentences(_ language: Language) -> [String] {
    switch language {
    case .czech:
      [
        "Sejdeme se v |N| před nádražím?", "Ten |W| jsem úplně zapomněla vyřídit, promiň.",
        "Viděl jsi, že |W| už je na stole?", "Přijdu asi o |N| minut později, stojíme v koloně.",
        "Kdo bere |W|?", "Včera jsme došli až na hřeben a pak nás chytil déšť.",
        "Poslala jsem ti to e-mailem, |W| je uvnitř.", "Můžeš to prosím zkontrolovat do pátku?",
        "Podle mě stačí |N| kusů, víc nesníme.", "Babička se ptá, jestli přijedete v neděli.",
        "Cena šla dolů o |N| %, berem to.", "Nešlo mi to otevřít, pošli |W| ještě jednou.",
      ]
    case .chinese:
      [
        "明天|N|点在地铁口见。", "|W|我已经发到邮箱了,你看一下。", "今天加班,可能晚|N|分钟到。",
        "这个|W|谁负责?", "我觉得这个方案还可以,就是时间有点紧。", "周末要不要一起去爬山?",
        "服务器又挂了,正在查日志。", "|W|买好了,一共|N|块钱。", "你那边下雨了吗?这边好大。",
        "等我|N|分钟,马上下楼。", "文档里第|N|页有个错别字。", "晚上吃火锅吧,我请客。",
      ]
    case .english, .mixed:
      [
        "Can we move the |W| to |N| past?", "I pushed a fix, please have another look.",
        "The |W| is on the kitchen table.", "Running |N| minutes late, start without me.",
        "Does anybody still need the |W|?", "It works on my machine, but the build is red again.",
        "That was the best |W| I had in years.", "We are down |N| % since Monday, any idea why?",
        "I will be offline until Thursday.", "Please don't reply to all |N| people.",
        "The file is called C:\\temp\\|W|.txt, I think.", "See the notes from last week.",
      ]
    }
  }
}
