package main

import "strings"

// calibration returns the text with which an engine is calibrated in a language: one in that language, or in one that is
// written alike, or numbers, which every language reads in its own words.
func calibration(language string) (text string, numbers bool) {
	texts := articles()
	for _, candidate := range []string{language, alike(language)} {
		if text, ok := texts[candidate]; ok {
			return text, false
		}
	}
	return "1, 2, 3, 4, 5, 6, 7, 8, 9, 10. 12, 30, 45, 100, 238. 1976.", true
}

// alike returns a language of articles with the letters of another one.
func alike(language string) string {
	family, _, _ := strings.Cut(language, "-")
	switch family {
	case "en":
		return "en-us"
	case "fr":
		return "fr-fr"
	case "af":
		return "nl"
	case "sk", "sl", "hr", "bs":
		return "cs"
	case "be", "bg", "mk", "sr", "kk", "ky", "tt", "ba", "cv", "nog":
		return "ru"
	case "az", "tk", "uz", "ku":
		return "tr"
	case "ur", "sd", "ug":
		return "fa"
	case "ne", "mr", "kok":
		return "hi"
	case "grc":
		return "el"
	case "hak":
		return "cmn"
	case "et", "is", "lt", "lv", "ltg", "cy", "ga", "gd", "lb", "sq", "kl", "smj":
		return "fi"
	case "an", "ca", "eo", "eu", "gn", "ht", "ia", "io", "la", "lfn", "mt", "nci", "pap", "piqd", "py", "qdb", "qu", "quc", "qya", "sjn":
		return "it"
	case "haw", "jbo", "mi", "ms", "om", "tn":
		return "id"
	}
	return family
}

// articles are the first article of the Universal Declaration of Human Rights and, where that alone is not typical, some
// sentences more, by language.
func articles() map[string]string {
	return map[string]string{
		"en-us": "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience, and should act towards one another in a spirit of brotherhood. " +
			"She sells fresh bread, cheese and honey at the small market near the river every Saturday. Our new office opens in March. Turn left after the bridge, and you will see the house. What time is it?",
		"en-gb": "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience, and should act towards one another in a spirit of brotherhood.",
		"de":    "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
		"fr-fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
		"es":    "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
		"it":    "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.",
		"pt":    "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência, devem agir uns para com os outros em espírito de fraternidade.",
		"pt-br": "Todos os seres humanos nascem livres e iguais em dignidade e direitos. São dotados de razão e consciência e devem agir em relação uns aos outros com espírito de fraternidade.",
		"nl":    "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.",
		"sv":    "Alla människor är födda fria och lika i värde och rättigheter. De är utrustade med förnuft och samvete och bör handla gentemot varandra i en anda av broderskap.",
		"da":    "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og samvittighed, og de bør handle mod hverandre i en broderskabets ånd.",
		"nb":    "Alle mennesker er født frie og med samme menneskeverd og menneskerettigheter. De er utstyrt med fornuft og samvittighet og bør handle mot hverandre i brorskapets ånd.",
		"fi":    "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
		"pl":    "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
		"cs":    "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.",
		"hu":    "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.",
		"ro":    "Toate ființele umane se nasc libere și egale în demnitate și în drepturi. Ele sunt înzestrate cu rațiune și conștiință și trebuie să se comporte unele față de altele în spiritul fraternității.",
		"tr":    "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.",
		"el":    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.",
		"ru":    "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства. По субботам она продаёт свежий хлеб и мёд на маленьком рынке у реки. Который час? Наш новый офис откроется в марте.",
		"uk":    "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і повинні діяти у відношенні один до одного в дусі братерства.",
		"ar":    "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء. تبيع الخبز الطازج والعسل في السوق الصغير قرب النهر كل يوم سبت. كم الساعة الآن؟ يفتح مكتبنا الجديد في شهر مارس.",
		"fa":    "تمام افراد بشر آزاد به دنیا می آیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل و وجدان هستند و باید نسبت به یکدیگر با روح برادری رفتار کنند.",
		"he":    "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה.",
		"hi":    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए। वह हर शनिवार नदी के पास छोटे बाज़ार में ताज़ी रोटी और शहद बेचती है। अभी कितने बजे हैं? हमारा नया दफ़्तर मार्च में खुलेगा।",
		"cmn":   "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。 她每个星期六在河边的小市场卖新鲜的面包和蜂蜜。现在几点了？我们的新办公室三月份开业。",
		"yue":   "人人生而自由，喺尊嚴同權利上一律平等。佢哋有理性同良心，應該以兄弟關係嘅精神相對待。",
		"ja":    "すべてのにんげんは、うまれながらにしてじゆうであり、そんげんとけんりとについてびょうどうである。たがいにどうほうのせいしんをもってこうどうしなければならない。 かのじょはまいしゅうどようびに、かわのちかくのちいさないちばで、パンとはちみつをうっています。いまなんじですか。",
		"ko":    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다. 그녀는 토요일마다 강가의 작은 시장에서 신선한 빵과 꿀을 팝니다. 지금 몇 시입니까? 새 사무실은 삼월에 문을 엽니다.",
		"vi":    "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con người đều được tạo hóa ban cho lý trí và lương tâm và cần phải đối xử với nhau trong tình anh em. Cô ấy bán bánh mì và mật ong ở khu chợ nhỏ gần sông vào mỗi thứ bảy. Bây giờ là mấy giờ rồi?",
		"id":    "Semua orang dilahirkan merdeka dan mempunyai martabat dan hak yang sama. Mereka dikaruniai akal dan hati nurani dan hendaknya bergaul satu sama lain dalam semangat persaudaraan.",
		"chr":   "Ꮒ ᎦᏓ ᎠᏂᏴᏫ ᏂᎨᎫᏓᎸᎾ ᎠᎴ ᎤᏂᏠᏱ ᎤᎾᏕᎿ ᏚᏳᎧᏛ ᎨᏒᎢ. ᎨᏥᏁᎳ ᎤᎾᏓᏅᏖᏗ ᎠᎴ ᎤᏃᏟᏍᏗ.",
		"sw":    "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri, hivyo yapasa watendeane kindugu.",
	}
}

// heldOut are sentences with which nothing was calibrated, by language.
func heldOut() map[string]string {
	return map[string]string{
		"en-us": strings.Join([]string{
			"The quick brown fox jumps over the lazy dog while seven wizards watch from the old stone wall.",
			"Please call me back tomorrow morning, because the meeting has been moved to half past nine.",
			"If you are not sure which train to take, ask the man in the blue uniform at platform two.",
			"The weather will be cold and windy, with some rain in the north and sunshine in the south.",
			"Nobody knew why the lights went out, but the music kept playing until the early morning.",
			"Hello! This is how I sound. I can read your words aloud, whenever you like.",
		}, " "),
		"en-gb": "The weather will be cold and windy, with some rain in the north and sunshine in the south. Please call me back tomorrow morning.",
		"de":    "Das Wetter wird morgen kalt und windig, mit etwas Regen im Norden und Sonne im Süden. Bitte rufen Sie mich morgen früh zurück.",
		"fr-fr": "Demain, le temps sera froid et venteux, avec un peu de pluie au nord et du soleil au sud. Rappelez-moi demain matin, s'il vous plaît.",
		"es":    "Mañana el tiempo será frío y ventoso, con algo de lluvia en el norte y sol en el sur. Por favor, llámeme mañana por la mañana.",
		"it":    "Domani il tempo sarà freddo e ventoso, con un po' di pioggia al nord e sole al sud. Per favore, richiamami domani mattina.",
		"pt-br": "Amanhã o tempo será frio e ventoso, com um pouco de chuva no norte e sol no sul. Por favor, me ligue amanhã de manhã.",
		"nl":    "Morgen wordt het koud en winderig, met wat regen in het noorden en zon in het zuiden. Bel me morgenochtend terug, alstublieft.",
		"sv":    "I morgon blir det kallt och blåsigt, med lite regn i norr och sol i söder. Ring mig i morgon bitti, är du snäll.",
		"pl":    "Jutro będzie zimno i wietrznie, z deszczem na północy i słońcem na południu. Proszę zadzwonić do mnie jutro rano.",
		"tr":    "Yarın hava soğuk ve rüzgarlı olacak, kuzeyde biraz yağmur, güneyde güneş var. Lütfen beni yarın sabah arayın.",
		"ru":    "Завтра будет холодно и ветрено, на севере небольшой дождь, на юге солнечно. Пожалуйста, перезвоните мне завтра утром.",
		"ar":    "سيكون الطقس غدا باردا وعاصفا مع بعض الأمطار في الشمال والشمس في الجنوب. من فضلك اتصل بي صباح الغد.",
		"hi":    "कल मौसम ठंडा रहेगा और हवा चलेगी, उत्तर में कुछ बारिश और दक्षिण में धूप होगी। कृपया मुझे कल सुबह फ़ोन करें।",
		"cmn":   "明天天气寒冷有风，北方有小雨，南方阳光明媚。请明天早上给我回电话。",
		"ja":    "あしたはさむくてかぜがつよく、きたではあめ、みなみははれでしょう。あしたのあさ、でんわをください。",
		"ko":    "내일은 춥고 바람이 불며 북쪽에는 비가 조금 오고 남쪽에는 해가 나겠습니다. 내일 아침에 전화해 주세요.",
		"vi":    "Ngày mai trời sẽ lạnh và có gió, miền bắc có mưa nhỏ và miền nam có nắng. Xin hãy gọi lại cho tôi vào sáng mai.",
	}
}
